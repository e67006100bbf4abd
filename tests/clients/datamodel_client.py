"""The models that datamodel-code-generator makes of the document read what the server answers. Arguments: the directory of models.py, the address."""

import json
import sys
import urllib.request

from pydantic import ValidationError

sys.path.insert(0, sys.argv[1])

import models  # noqa: E402


def call(method, **params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(sys.argv[2], body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


answer = call("run_and_wait", script="args.a + args.b", args={"a": 40, "b": 2})
result = models.JobResult.model_validate(answer["result"])
assert result.value == 42 and result.usage.run_ms >= 0, result

# What it writes of a job is read by the server: null is "not given".
spec = models.JobSpecInput(script='throw #{ message: "no plums", left: 0 }', name="plums", labels={"shop": "a"})
identity = call("create_job", **spec.model_dump(mode="json"))["result"]
call("start_job", job_id=identity)
assert call("wait_job", job_id=identity)["error"]["code"] == 1101
job = models.Job.model_validate(call("get_job", job_id=identity)["result"])
assert (job.status, job.error.kind) == (models.JobStatus.error, models.ErrorKind.script), job
assert (job.name, job.error.message, job.error.data["left"]) == ("plums", "no plums", 0), job
page = models.JobPage.model_validate(call("list_jobs", filter={"labels": {"shop": "a"}})["result"])
assert [str(job.job_id) for job in page.jobs] == [identity], page

try:
    models.JobSpecInput(script=42, timeout="long")
except ValidationError as error:
    assert {fault["loc"] for fault in error.errors()} == {("script",), ("timeout",)}, error
else:
    raise AssertionError("a script is text")
print("well")
