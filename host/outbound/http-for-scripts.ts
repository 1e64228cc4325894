import type { HttpPorts, HttpRefusal } from '../../plugins/http/host.ts'
import type { GrantStore } from '../grants/grants.ts'
import type { NoteRefusal } from '../solutions/script-refusals.ts'
import type { Outbound } from './outbound.ts'

export type HttpForScriptsParts = {
  /** Sends the requests. Private hosts are allowed if `HTTP_ALLOWED_HOSTS` lists them. */
  readonly outbound: Outbound
  readonly grants: Pick<GrantStore, 'get'>
  readonly noteRefusal: NoteRefusal
}

const REASONS: Readonly<Record<HttpRefusal, string>> = {
  'not-asked': 'the solution’s manifest does not list this host; add it to "http" in solution.json',
  'not-granted': 'the operator has not granted this host to the solution; ask the operator to grant it',
  private:
    'this host is in a private network or on this machine; to allow it, the operator can add it to HTTP_ALLOWED_HOSTS',
}

/** HTTP requests from scripts. They can be sent only to hosts that the operator has granted to the solution. */
export function createHttpForScripts({ outbound, grants, noteRefusal }: HttpForScriptsParts): HttpPorts {
  return {
    granted: async (call) => (await grants.get(call.solution.name)).http,
    send: (request) => outbound.request(request),
    onRefused(call, host, why) {
      noteRefusal(call, `plugins.http.fetch to ${host} was rejected: ${REASONS[why]}`)
    },
  }
}
