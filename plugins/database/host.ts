import { type Call, type Json, type Plugin, request } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'

export type Parameter = string | number | boolean | null
export type Row = { readonly [column: string]: Json }

/** The host services behind the binding `plugins.database`. */
export interface DatabasePorts {
  /**
   * Runs one statement in the solution's database with this name.
   * @throws ScriptError with a message that tells the author how to fix the problem
   */
  query(call: Call, name: string, sql: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
}

const Parameter = z.union([z.string(), z.number(), z.boolean(), z.null()])

export default function database(ports: DatabasePorts): Plugin {
  return {
    name: 'database',
    under: 'plugins',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    requests: {
      query: request(
        z.tuple([z.string().min(1).max(64), z.string().min(1).max(65_536), z.array(Parameter).max(1000)]),
        (call, [name, sql, parameters]) => ports.query(call, name, sql, parameters),
        // Chosen here: every query is treated as a change, since a SELECT can call functions and a WITH can contain an
        // INSERT. The only downside: if the process dies, the call is not retried.
        { changes: true },
      ),
    },
  }
}
