import type { DatabasePorts } from '../../plugins/database/host.ts'
import type { HttpPorts } from '../../plugins/http/host.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Plugin, ScriptError } from '../../runtime/plugin.ts'
import { builtInPlugins } from './plugins.ts'

/** The platform's plugins where bundles are only checked: scripts find the bindings, and nothing is behind them. */
export function pluginsForChecks(limits: Limits): readonly Plugin[] {
  return builtInPlugins('none', limits, { database: NO_DATABASE, http: NO_HTTP })
}

// The bindings must be there, as scripts find them on a host; while scripts load nothing can be asked of them anyway.
const NO_DATABASE: DatabasePorts = { query: () => refuse('databases') }
const NO_HTTP: HttpPorts = { granted: async () => [], send: () => refuse('other servers'), onRefused: () => {} }

function refuse(what: string): Promise<never> {
  return Promise.reject(new ScriptError(`there are no ${what} while a solution is checked`))
}
