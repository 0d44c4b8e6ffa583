#!/usr/bin/env bash
# A conversation over threads and runs, with curl.
#
#   examples/clients/thread.sh [BRIDGE URL] [AGENT]
#
# Without an agent the bridge's default agent answers, whatever its dialect.
set -euo pipefail
bridge="${1:-http://127.0.0.1:8080}"
agent="${2:-}"

post() { curl -sS --fail-with-body -X POST -H 'Content-Type: application/json' "$bridge$1" -d "$2"; }
field() { sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p' | head -n 1; }
# "assistant_id" requests responses in LangGraph's form; "agent_id" or neither
# requests those of the Agent Protocol.
chosen="${agent:+\"assistant_id\":\"$agent\",}"

thread="$(post /threads '{"metadata":{"from":"curl"}}' | field thread_id)"
echo "thread $thread"

echo "--- a run, waited for"
post "/threads/$thread/runs/wait" "{$chosen\"input\":{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}}"
echo

echo "--- the next run, streamed: it knows the conversation"
post "/threads/$thread/runs/stream" "{$chosen\"stream_mode\":[\"updates\"],\"input\":{\"messages\":[{\"role\":\"user\",\"content\":\"and now?\"}]}}"

echo "--- the state of the thread"
curl -sS --fail-with-body "$bridge/threads/$thread/state"
echo
