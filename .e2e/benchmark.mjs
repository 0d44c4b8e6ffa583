// A client that makes the requests of AutoGPT's benchmark harness in the same order
// and with the same bytes (its Python client, replayed): JSON type and no body on step POSTs,
// a content type on GETs, relative_path before the file, percent-encoded names.
import { call } from "./http.mjs";

const HEADERS = {
  "user-agent": "OpenAPI-Generator/1.1.0/python",
  accept: "application/json",
  "content-type": "application/json",
};

export class Harness {
  constructor(base) {
    this.tasks = `${base}/ap/v1/agent/tasks`;
  }

  async must(method, url, body, headers = {}) {
    const answer = await call(method, url, body, { ...HEADERS, ...headers });
    if (answer.status !== 200) throw new Error(`${method} ${url}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  create(input, more = {}) {
    return this.must("POST", this.tasks, { input, ...more });
  }

  step(taskID, body) {
    return this.must("POST", `${this.tasks}/${taskID}/steps`, body);
  }

  get(taskID, rest = "") {
    return this.must("GET", `${this.tasks}/${taskID}${rest}`);
  }

  async upload(taskID, name, text, folder) {
    const boundary = "b0undary0f0urs";
    const part = (disposition, type, content) =>
      `--${boundary}\r\nContent-Type: ${type}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
    const path = folder ? part('name="relative_path"', "text/plain; charset=utf-8", folder) : "";
    const file = part(`name="file"; filename="${encodeURIComponent(name)}"`, "text/plain", text);
    return this.must("POST", `${this.tasks}/${taskID}/artifacts`, `${path}${file}--${boundary}--\r\n`, {
      "content-type": `multipart/form-data; boundary=${boundary}`,
    });
  }

  /** Steps without a body until the last one. */
  async drive(taskID, atMost = 20) {
    const steps = [];
    while (steps.length < atMost) {
      const step = await this.step(taskID);
      steps.push(step);
      if (step.is_last) return steps;
    }
    throw new Error(`no last step among ${atMost}: ${steps.map((s) => s.output).join(" | ")}`);
  }

  /** The first page of the artifacts, downloaded: {path: text}, in order. */
  async download(taskID) {
    const { artifacts } = await this.get(taskID, "/artifacts");
    const files = new Map();
    for (const a of artifacts) {
      const answer = await call("GET", `${this.tasks}/${taskID}/artifacts/${a.artifact_id}`, undefined, HEADERS);
      if (answer.status !== 200) throw new Error(`download ${a.file_name}: ${answer.status} ${answer.text}`);
      files.set(a.relative_path ?? a.file_name, answer.text);
    }
    return files;
  }
}
