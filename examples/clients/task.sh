#!/usr/bin/env bash
# A task driven step by step with curl, as a benchmark harness does it.
#
#   examples/clients/task.sh [BRIDGE URL]
#
# For an agent that is not the default one, append /agents/NAME to the URL.
set -euo pipefail
tasks="${1:-http://127.0.0.1:8080}/ap/v1/agent/tasks"

post() { curl -sS --fail-with-body -X POST -H 'Content-Type: application/json' "$@"; }
field() { sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p' | head -n 1; }

task="$(post "$tasks" -d '{"input":"Write the word Washington to a file"}' | field task_id)"
echo "task $task"

echo "--- a file for the agent"
printf 'Write it in capitals.\n' | curl -sS --fail-with-body -F 'file=@-;filename=notes.txt' "$tasks/$task/artifacts"
echo

# A step without a body continues the task.
for _ in $(seq 20); do
  step="$(post "$tasks/$task/steps")"
  echo "--- $step"
  case "$step" in *'"is_last":true'* | *'"is_last": true'*) break ;; esac
done

echo "--- the files of the task"
curl -sS --fail-with-body "$tasks/$task/artifacts"
echo
