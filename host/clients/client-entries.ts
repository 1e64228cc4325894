import { noEffects } from '../../base/bundles/host-call.ts'
import { createCorrelationId } from '../../base/http/correlation.ts'
import type { Press } from '../../plugins/security/host.ts'
import type { Json } from '../../runtime/plugin.ts'
import type { ClientGone } from '../../runtime/sandbox-client.ts'
import type { ClientCallResult } from './client-calls.ts'
import type { ClientState } from './client-state.ts'

const NO_CONTEXT: ClientGone = {
  code: 'client_gone',
  message: 'the client has no context',
  started: false,
  changedSomething: false,
  milliseconds: 0,
}

export type EntryResult = ClientCallResult & { readonly correlationId: string }

/**
 * Calls an entry function in a client's context, as the client's user and in its language.
 * @param press the press that the call handles, if any
 * @returns the failure `client_gone` if the client has no context at the moment
 */
export type CallEntry = (
  entry: string,
  args: readonly Json[],
  kind?: 'open' | 'login',
  press?: Press | null,
) => Promise<EntryResult>

export function createCallEntry(state: ClientState): CallEntry {
  return async (entry, args, kind = 'open', press = null) => {
    const { parts, sandbox, solution, secrets, user, visitor, screen, overrides } = state
    const correlationId = createCorrelationId()
    // The context may have ended while the client was waiting for something else, such as the session.
    if (sandbox === null) return { failure: NO_CONTEXT, effects: noEffects(), correlationId }
    const { address, serverUrl, found } = visitor
    const result = await parts.callClient(sandbox, solution, {
      entry,
      args,
      secrets: secrets.all(),
      call: {
        kind,
        correlationId,
        user,
        account: found?.session ?? null,
        methods: found?.session.methods ?? [],
        press,
        address,
        locale: screen.locale,
        serverUrl,
        messages: overrides,
        onlyForm: visitor.isLoginForm ? solution.manifest.loginForm : null,
      },
    })
    return { ...result, correlationId }
  }
}
