#!/bin/bash
set -e
cp /solution/workspace/report.py /work/report.py
