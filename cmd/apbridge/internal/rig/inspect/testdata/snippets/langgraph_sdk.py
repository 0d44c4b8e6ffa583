"""Stands in for langgraph-sdk: its sync client's runs.wait without a thread sends what rig/matrix/testdata/replayed/python.txtar has."""
import json
import urllib.request


class Runs:
    def __init__(self, url, headers):
        self.url, self.headers = url, headers

    def wait(self, thread_id, assistant_id, *, input=None):
        assert thread_id is None
        body = json.dumps({"input": input, "assistant_id": assistant_id}).encode()
        request = urllib.request.Request(self.url + "/runs/wait", body, self.headers, method="POST")
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


class SyncLangGraphClient:
    def __init__(self, runs):
        self.runs = runs


def get_sync_client(*, url=None, api_key=None):
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if api_key:
        headers["x-api-key"] = api_key
    return SyncLangGraphClient(Runs(url, headers))
