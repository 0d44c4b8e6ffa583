// The methods that are refused, each with the status and code it must get.
import { refuses } from "./checks.mjs";

export const refusals = {
  "threads.patchState": {
    status: 404, code: "not_supported",
    call: ({ sdk, done }) => sdk.threads.patchState(done.thread_id, { a: 1 }),
  },
  "~ui.getComponent": {
    status: 404, code: "not_supported",
    call: ({ sdk, agent }) => sdk["~ui"].getComponent(agent, "card"),
  },
};

export const refused = (row, ctx) => refuses(row.call(ctx), row.status, row.code);
