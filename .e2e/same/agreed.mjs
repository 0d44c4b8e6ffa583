// The known differences between a LangGraph server and the bridge, each with its reason. at matches a place in a response, of
// compares the two values there, and in matches the names of scenarios. A row that no scenario needs any more fails, unless it
// is only needed sometimes.
const absent = (server) => server === undefined;
const lacking = (_, bridge) => bridge === undefined;
const empty = (value) => value !== null && typeof value === "object" && Object.keys(value).length === 0;
const either = (...pairs) => (s, b) => pairs.some(([theirs, ours]) => s === theirs && b === ours);

export const agreed = [
  { why: "a thread names the graph of its first run, where the server names that of its last: topics belong to it", in: /a run that fails$/, at: /GET \/threads\/\{\} body\.metadata\.(graph_id|assistant_id, another id)$/ },
  { why: "a state that was updated as a node names the node in its metadata", at: /metadata\.as_node$/, of: absent },
  { why: "the bridge adds these members, for clients of its other dialect and for its own pages",
    at: /\.(state_updated_at|agent_id|error_code|error_name|cancel_reason)$| body(\[\])?\.(messages|error|interrupts)$|(frame error|__error__)\.code$|versions body\[\]\.updated_at$/, of: absent },
  { why: "the bridge writes an empty object where the server writes nothing", at: /body(\[\])?\.(values|metadata)$/, of: (s, b) => absent(s) && empty(b) },
  { why: "the bridge lists no task that asks nothing among a thread's interrupts", at: /\.interrupts\.\{\}'?$/, of: (s, b) => lacking(s, b) && empty(s) },
  { why: "the bridge names the type of its JSON", at: /headers\.content-type$/, of: (s) => s === "text/plain; charset=UTF-8" },
  { why: "the frames of a run without a thread have ids, too", at: / frames have ids$/, of: (s, b) => !s && b },
  { why: "the SDK reads Location to reconnect", at: /headers\.location$/, of: absent },
  { why: "a wrong field is 422, as LangGraph documents it; the JavaScript server answers 400", at: / status$/, of: either([400, 422]) },
  { why: "a missing thread is 404 and a busy one 409, as LangGraph documents them", at: /(copy|runs|wait|stream) status$/, of: either([409, 404], [422, 404], [422, 409]) },
  { why: "the server calls a missing thread busy", at: /(runs|wait|stream) error$/, of: (s, b) => s === "busy" && b === "absent" },
  { why: "what does not exist is 404; the server answers with something empty", at: /\/(stream|state\/\{\}|assistants|runs\/\{\}) status$/, of: either([200, 404]) },
  { why: "the Agent Protocol allows a PATCH without metadata, and a run without an assistant", in: /fields are checked/, at: /(PATCH \/threads\/\{\}|POST \/threads\/\{\}\/runs) status$/, of: either([400, 200]) },
  { why: "the server reads wait=0 as true", at: /cancel\?wait=0[^ ]* status$/, of: either([204, 202]) },
  { why: "a deletion is answered with 204", at: /DELETE \/assistants[^ ]* (status|headers\.content-type|body)$/, of: (s, b) => s === 200 ? b === 204 : absent(b) || b === "" },
  { why: "a 500 of the agent is 502 at the bridge", at: /\/state status$/, of: either([500, 502]) },
  { why: "the server refuses subgraphs as a boolean, which its SDK sends", in: /state at a checkpoint/, at: /state\/checkpoint status$/, of: either([400, 200]) },
  { why: "the bridge refuses an answer if no question is open", in: /an answer to no question/, at: / status$/, of: either([200, 409]) },
  { why: "a method that a path does not have is 405", at: /PUT \/threads (status|error)$/, of: either([404, 405], ["absent", "other"]) },
  { why: "the JavaScript server has no crons, no prune and no cancelling of many runs", in: /does not have/, at: /(crons[^ ]*|prune|cancel[^ ]*) (status|error)$/,
    of: either([400, 200], [404, 200], [500, 200], [500, 404], ["other", "absent"]) },
  { why: "kwargs has what the client sent of a run's input and options, and nothing that was added", at: /kwargs\.(context|feedback_keys|resumable|stream_mode|subgraphs|temporary|webhook|config\.metadata)$/, of: lacking },
  { why: "the bridge does not copy headers of requests into configurable", at: /\.(user-agent|x-auth-scheme)$/, of: lacking },
  { why: "the same, and of the checkpoint where a run began, where nothing else is configurable", at: /config\.configurable$/,
    of: (s, b) => lacking(s, b) && Object.keys(s).every((name) => /^(user-agent|x-auth-scheme|checkpoint_(id|ns|map))$/.test(name)) },
  { why: "the bridge marks its runs at the agent", at: /\.(user-agent|x-request-id|apbridge_(first_)?run_id|apbridge_thread_id)$/, of: (s, b) => absent(s) || /^apbridge/.test(b) },
  { why: "a second run is enqueued by default, as LangGraph documents it; the JavaScript server rejects it", at: /\.multitask_strategy$/, of: (s, b) => s === "reject" && b === "enqueue" },
  { why: "the server adds the offset to the total, and names a next page only at the end", at: /\/search headers\.x-pagination-(total|next)$/, of: (s, b) => absent(s) || lacking(s, b) || Number(s) > Number(b) },
  { why: "the bridge lists the newest runs first, and honours offset and select; the server does not", in: /runs are listed in pages|edited and forked/, at: /\/runs\?[^ ]* body/ },
  { why: "the server ignores sort_by", in: /assistants are found/, at: /POST \/assistants\/search body\[\]\.(assistant_id, another id|name|metadata\..*)$/ },
  { why: "the server restores only a part of an assistant's earlier version", in: /its versions kept/, at: /\.(context\.c|description|graph_id)$/ },
  { why: "the server wraps the error of a graph in another one", at: /__error__\.(error|message)$/, of: (s) => s === "Error" || s.startsWith('{"error":') },
  { why: "a state names the error of its last run, even if no node threw it", in: /more steps than it may have/, at: /tasks\[\]\.error$/, of: (s) => s === null },
  { why: "a copy of a thread has its values at once, and no metadata of its own", at: /copy body\.(values|metadata\.thread_id)$/, of: (s, b) => absent(s) || lacking(s, b) },
  { why: "a run that stops for a question is interrupted, as in LangGraph's Python server", at: /\.status$/, of: (s, b) => s === "success" && b === "interrupted" },
  { why: "a wait returns all open questions; the server returns the last", at: /wait body\.__interrupt__\.length$/, of: (s, b) => b?.length > s?.length },
  { why: "a run without a thread can ask a question; the server has no checkpointer for it", in: /runs without a thread/, at: /POST \/runs\/wait body\.(__error__|__interrupt__)$/,
    of: (s, b) => absent(s) || lacking(s, b) },
  { why: "the metadata of a run names its graph, even without a thread", in: /(without a thread|batch)/, at: /body(\[\])?\.metadata\.(graph_id|assistant_id)$/, of: absent },
  { why: "a thread without runs is idle; the server leaves it busy after a rollback", in: /a run that waits is cancelled/, at: /GET \/threads\/\{\} body\.status$/, of: (s, b) => s === "busy" && b === "idle" },
  { why: "a hook gets messages in the form of all answers, not as LangChain's constructors", at: /^hook of \w+ body\.values\.messages\[\]/ },
  { why: "each server describes itself", at: /\/info body\.(compatibility|context|version|flags\.\w+)$/ },
  { why: "the bridge always asks for tokens, and a graph then gives an id to every message", at: /messages\[\]\.id$/, of: absent },
  { why: "the bridge makes the frames of mode messages from those of messages-tuple", at: /frame messages\/metadata\.\{\}\.metadata\.tags$/, of: absent },
  { why: "a task in a debug frame has a result if it ended before the frame was written", at: /frame debug[^ ]*\.payload\.tasks\[\]\.(result|error)$/, sometimes: true },
  { why: "a stream that is joined without an event id has only later events, as LangGraph documents it", in: /joined without an event/, at: / frames$/, of: (s, b) => b === "" },
  { why: "a run that ends with an open question returns the question; the server returns earlier values", in: /left by goto/, at: /body\.(__interrupt__|messages|values\.messages\.length)$/ },
  { why: "a cancelled run keeps the thread's values; the server drops them until the next run", in: /a run is cancelled$/, at: /GET \/threads\/\{\} body\.values$/, of: absent },
  { why: "a rollback removes the states of the run; the JavaScript server keeps them", in: /taken back|rollback/, at: /state body\./,
    of: (s, b) => lacking(s, b) || b === null || (Array.isArray(b) ? b.length < s.length : b < s) },
  { why: "a graph that puts its ids into messages names those of the agent", in: /config and context|own config/, at: /(run_id|thread_id|assistant_id|content-location), another id$|messages\[\]\.content\.metadata\.created_by$/ },
  { why: "a server's own marks are in the metadata of its checkpoints, but not where it streams them", at: /^(GET|POST) \/threads\/\{\}\/(state|history)[^ ]* body(\[\])?\.metadata\.(langgraph_(host|plan|version)|ls_integration)$/, of: lacking },
  { why: "the metadata of a checkpoint names where its run began, if that is not the newest, and no empty namespace", at: /(body(\[\])?\.metadata|frame debug\.payload\.(metadata|(parent_)?config\.configurable))\.checkpoint_(map|ns)$/, of: (s, b) => lacking(s, b) && (s === null || s === "") },
];

// The faults of the bridge. Each is shown as a TODO. Delete its row with the fix.
export const faults = [];
