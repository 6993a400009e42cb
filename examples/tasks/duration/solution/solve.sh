#!/bin/bash
set -e
cp /solution/workspace/duration.py /work/duration.py
