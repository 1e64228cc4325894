import { type Json, ScriptError } from './plugin.ts'
import type { FromSandbox } from './protocol.ts'
import type { SandboxProcess } from './sandbox-process.ts'

/**
 * Starts handling a guest's request, and reports immediately whether it can change anything. If the request fails, the
 * script gets "plugin.method failed", or the message of a `ScriptError`.
 */
export type RequestHandler = (
  plugin: string,
  method: string,
  args: readonly Json[],
  id: number,
) => { readonly changes: boolean; readonly value: Promise<Json> }

/**
 * @param changes called if the request can change something. Called early, because the process may die before the
 * response is sent
 */
export async function answerRequest(
  process: SandboxProcess,
  message: Extract<FromSandbox, { kind: 'request' }>,
  handler: RequestHandler,
  changes: () => void,
): Promise<void> {
  const reply = { kind: 'answer', id: message.id, request: message.request } as const
  try {
    const begun = handler(message.plugin, message.method, message.args, message.request)
    if (begun.changes) changes()
    process.send({ ...reply, ok: true, value: await begun.value })
  } catch (error) {
    // If `value` is null, the guest part writes the message, which names the binding as scripts do.
    process.send({ ...reply, ok: false, value: error instanceof ScriptError ? error.message : null })
  }
}
