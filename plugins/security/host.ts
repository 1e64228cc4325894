import * as z from 'zod'
import type { Limits } from '../../runtime/limits.ts'
import { type Call, command, type Json, type Plugin, type SolutionFacts } from '../../runtime/plugin.ts'

export type Login = { readonly username: string; readonly uid: string; readonly permissions: readonly string[] }
export type Tenant = readonly (string | number)[]
export type SignedInUser = Login & { readonly tenant: Tenant | null }

/** What the binding `security` needs of the host. */
export interface SecurityPorts {
  /** The user of the call's session, if there is one. */
  user(call: Call): SignedInUser | null
  /** The permission names that scripts of the solution may grant; null: any name. */
  permissions(solution: SolutionFacts): readonly string[] | null
  /** The first login of a call wins. Called at most once per call that returned well. */
  logIn(call: Call, login: Login): void
  logOut(call: Call, target: { readonly solution: string | null; readonly argument: string | null }): void
  setTenant(call: Call, tenant: Tenant): void
}

const Name = z.string().min(1).max(200).refine(isPlain)

export default function security(ports: SecurityPorts, limits: Limits): Plugin {
  const Permission = z.string().min(1).max(limits.PERMISSION_LENGTH).refine(isPlain)
  return {
    name: 'security',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      login: command(
        z.tuple([Name, Name, z.array(Permission).min(1).max(limits.PERMISSIONS)]),
        (call, [username, uid, permissions]) => {
          const allowed = ports.permissions(call.solution)
          const known = allowed && new Set(allowed)
          const unknown = known && permissions.some((name) => !known.has(name))
          // The binding answered false for these, so only a guest that went around the binding comes here.
          if (call.kind !== 'login' || unknown) return
          ports.logIn(call, { username, uid, permissions })
        },
        { decidesLogin: true },
      ),
      logout: command(
        z.tuple([z.string().max(63).nullable(), z.string().max(2048).nullable()]),
        (call, target) => ports.logOut(call, { solution: target[0], argument: target[1] }),
        { decidesLogin: true },
      ),
      setTenantValue: command(
        z.tuple([
          z
            .array(
              z.union([
                z
                  .string()
                  .max(200)
                  .refine((text) => text.isWellFormed()),
                z.number(),
              ]),
            )
            .min(1)
            .max(100),
        ]),
        (call, [tenant]) => ports.setTenant(call, tenant),
      ),
    },
    settings: (solution): Json => ({ permissions: ports.permissions(solution) }),
    state: (call): Json => ({ kind: call.kind, user: ports.user(call) }),
  }
}

/** No control characters, no lone surrogates, no marks that change the direction of the text around a name. */
function isPlain(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(text)
}
