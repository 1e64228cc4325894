import { type Call, type Json, type Plugin, request } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

export type Parameter = string | number | boolean | null
export type Row = { readonly [column: string]: Json }

/** What the binding `plugins.database` needs of the host. */
export interface DatabasePorts {
  /**
   * Runs one statement in the solution's database of that name.
   * @throws ScriptError with what the author can do
   */
  query(call: Call, name: string, sql: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
}

const Parameter = z.union([z.string(), z.number(), z.boolean(), z.null()])

export default function database(ports: DatabasePorts): Plugin {
  return {
    name: 'database',
    under: 'plugins',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    requests: {
      query: request(
        z.tuple([z.string().min(1).max(64), z.string().min(1).max(65_536), z.array(Parameter).max(1000)]),
        (call, [name, sql, parameters]) => ports.query(call, name, sql, parameters),
        // Chosen here: every query counts as one that changes something, since a SELECT may call functions and a WITH may hold
        // an INSERT. All that costs is that such a call is not run again when its process was lost.
        { changes: true },
      ),
    },
  }
}
