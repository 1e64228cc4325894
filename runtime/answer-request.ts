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
 * @param mostUnread if the process has more unread bytes than this, the host drops the request's result, and the
 * request fails. A script that keeps its process busy reads nothing, so unread results would fill the host's memory.
 * Chosen here: `ISOLATE_MEMORY`, because a script can't use more than that
 */
export async function answerRequest(
  process: SandboxProcess,
  message: Extract<FromSandbox, { kind: 'request' }>,
  handler: RequestHandler,
  changes: () => void,
  mostUnread: number,
): Promise<void> {
  const reply = { kind: 'answer', id: message.id, request: message.request } as const
  try {
    const begun = handler(message.plugin, message.method, message.args, message.request)
    if (begun.changes) changes()
    const value = await begun.value
    if (process.unread() > mostUnread) throw tooMuchUnread(mostUnread)
    process.send({ ...reply, ok: true, value })
  } catch (error) {
    // If `value` is null, the guest part writes the message, which names the binding as scripts do.
    process.send({ ...reply, ok: false, value: error instanceof ScriptError ? error.message : null })
  }
}

function tooMuchUnread(bytes: number): ScriptError {
  const size = Math.floor(bytes / 1024 ** 2)
  return new ScriptError(
    `the result was lost: the scripts were busy and have not yet received ${size} MB of earlier results (ISOLATE_MEMORY); await each request before you send the next`,
  )
}
