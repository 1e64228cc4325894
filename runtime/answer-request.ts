import { type Json, ScriptError } from './plugin.ts'
import type { FromSandbox } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/**
 * Begins to answer a request of the guest and says at once whether it can change something. What the answer fails
 * with reaches the script as "plugin.method failed", a `ScriptError` as its message.
 */
export type RequestHandler = (
  plugin: string,
  method: string,
  args: readonly Json[],
) => { readonly changes: boolean; readonly value: Promise<Json> }

/** @param changes called, before it is answered, when the request can change something: the process may die meanwhile */
export async function answerRequest(
  process: SandboxProcess,
  message: Extract<FromSandbox, { kind: 'request' }>,
  handler: RequestHandler,
  changes: () => void,
): Promise<void> {
  const reply = { kind: 'answer', id: message.id, request: message.request } as const
  try {
    const begun = handler(message.plugin, message.method, message.args)
    if (begun.changes) changes()
    process.send({ ...reply, ok: true, value: await begun.value })
  } catch (error) {
    // Without a text the guest part says which binding failed, as scripts call it.
    process.send({ ...reply, ok: false, value: error instanceof ScriptError ? error.message : null })
  }
}
