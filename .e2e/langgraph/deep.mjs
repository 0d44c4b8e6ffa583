// deep: a deep agent that delegates a lookup to a subagent. Its model needs no network: it follows a script.
import { AIMessage } from "@langchain/core/messages";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createDeepAgent } from "deepagents";
import { tool } from "langchain";
import { z } from "zod";

/** A model whose answer depends on the last message. */
class Scripted extends BaseChatModel {
  constructor(answer) {
    super({});
    this.answer = answer;
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const message = this.answer(messages.at(-1));
    return { generations: [{ text: String(message.content), message }] };
  }
}

const calls = (id, name, args) => new AIMessage({ content: "", tool_calls: [{ id, name, args, type: "tool_call" }] });

const lookUp = tool(async ({ what }) => `found: ${what}`, { name: "look_up", description: "Looks something up.", schema: z.object({ what: z.string() }) });

const researcher = new Scripted((last) => (last.getType() === "tool" ? new AIMessage(`the researcher has ${last.content}`) : calls("call_look", "look_up", { what: last.content })));

const leader = new Scripted((last) =>
  last.getType() === "tool" ? new AIMessage(`done: ${last.content}`) : calls("call_task", "task", { description: "the colour of the sky", subagent_type: "researcher" }));

export const deep = createDeepAgent({
  model: leader,
  subagents: [{ name: "researcher", description: "Looks things up.", systemPrompt: "Look it up.", tools: [lookUp], model: researcher }],
});
