#!/bin/bash
set -e
cd /work
git apply --whitespace=nowarn /solution/solution.patch
