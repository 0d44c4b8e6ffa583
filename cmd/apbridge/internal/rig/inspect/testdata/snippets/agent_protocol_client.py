"""Stands in for agent-protocol-client 1.1.0, made by OpenAPI Generator: it sends what rig/matrix/testdata/replayed/agbenchmark.txtar has."""
import json
import types
import urllib.request


class Configuration:
    def __init__(self, host):
        self.host = host


class ApiClient:
    def __init__(self, configuration):
        self.configuration = configuration
        self.default_headers = {"Content-Type": "application/json"}

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    def set_default_header(self, name, value):
        self.default_headers[name] = value

    def post(self, path, body):
        request = urllib.request.Request(self.configuration.host + path, body, self.default_headers, method="POST")
        with urllib.request.urlopen(request) as answer:
            return types.SimpleNamespace(**json.load(answer))


class TaskRequestBody:
    def __init__(self, input):
        self.input = input


class AgentApi:
    def __init__(self, client):
        self.client = client

    async def create_agent_task(self, *, task_request_body):
        return self.client.post("/ap/v1/agent/tasks", json.dumps({"input": task_request_body.input}).encode())

    async def execute_agent_task_step(self, *, task_id):
        return self.client.post(f"/ap/v1/agent/tasks/{task_id}/steps", b"")
