#!/bin/bash
set -e
cp /solution/workspace/calc.py /work/calc.py
