#!/bin/sh
# Stands for an interpreter that has pytest, which is played by check.sh.
[ "$1" = -c ] && exit 0
[ "$1 $2" = "-m pytest" ] && exec sh check.sh
exit 2
