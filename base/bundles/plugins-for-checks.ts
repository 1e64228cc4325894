import type { DatabasePorts } from '../../plugins/database/host.ts'
import type { HttpPorts } from '../../plugins/http/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Plugin, ScriptError } from '../../runtime/plugin.ts'
import { builtInPlugins } from './plugins.ts'

/** The platform's plugins for checking bundles: the bindings exist, but every call to them is rejected. */
export function pluginsForChecks(limits: Limits): readonly Plugin[] {
  return builtInPlugins('none', limits, { database: NO_DATABASE, http: NO_HTTP })
}

// The bindings must exist, as on a host. Their calls may fail, because a script can't await a response while it loads.
const NO_DATABASE: DatabasePorts = { query: () => refuse('databases') }
const NO_HTTP: HttpPorts = { granted: async () => [], send: () => refuse('other servers'), onRefused: () => {} }

function refuse(what: string): Promise<never> {
  return Promise.reject(new ScriptError(`${what} are not available while a solution is being checked`))
}
