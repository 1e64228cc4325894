import { CALL_KINDS } from '../../runtime/call-kinds.ts'
import type { Limits } from '../../runtime/limits.ts'
import { type Call, command, type Json, type Plugin, request, type SolutionFacts } from '../../runtime/plugin.ts'
import { isVisible } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'

export type Login = { readonly username: string; readonly uid: string; readonly permissions: readonly string[] }
export type Tenant = readonly (string | number)[]
export type SignedInUser = Login & { readonly tenant: Tenant | null }

/** The press of a button, link or table row. */
export type Press = {
  /** Whether the user confirmed their identity less than `CONFIRMED_FOR` ago. */
  readonly isConfirmed: boolean
  /** Whether the user confirmed this press. */
  readonly isConfirmedNow: boolean
}

/** `every`: an earlier confirmation is not enough. */
export type Question = { readonly reason: string; readonly every: boolean }

/** The longest reason for a confirmation, in characters. */
export const LONGEST_REASON = 200

/** The host services behind the binding `security`. */
export interface SecurityPorts {
  user(call: Call): SignedInUser | null
  /** The tenant of the user, or of a job's run. */
  tenant(call: Call): Tenant | null
  /** The permission names that the solution's scripts can grant; null if they can grant any name. */
  permissions(solution: SolutionFacts): readonly string[] | null
  /** Signs the user in. Called only if the call succeeds, and only for the call's first login. */
  logIn(call: Call, login: Login): void
  /** Requires a second factor for this call's login, whatever the policy says. Called only if the call succeeds. */
  requireSecondFactor(call: Call): void
  /** How the user signed in; empty if no user is signed in. */
  methods(call: Call): readonly string[]
  /** The press that the call handles, or null. */
  press(call: Call): Press | null
  /**
   * Asks the user to confirm their identity, then repeats the press. If a call asks several times, only the first
   * counts.
   */
  confirm(call: Call, question: Question): void
  logOut(call: Call, target: { readonly solution: string | null; readonly argument: string | null }): void
  setTenant(call: Call, tenant: Tenant): void
  readonly users: UsersPort
  readonly passwordHashes: PasswordHashesPort
}

/** Checks and creates password hashes that solutions store themselves. A rejected request throws a `ScriptError`. */
export interface PasswordHashesPort {
  /** @param hash null for an unknown user: returns false, but takes as long as a real check */
  check(call: Call, password: string, hash: string | null): Promise<boolean>
  hash(call: Call, password: string): Promise<string>
}

/**
 * The platform's users, if the operator granted the solution access to them. A rejected request throws a `ScriptError`.
 * The last five methods require an administrator.
 */
export interface UsersPort {
  authenticate(call: Call, username: string, password: string): Promise<{ uid: string; permissions: string[] } | null>
  checkPassword(call: Call, uid: string, password: string): Promise<boolean>
  getUser(call: Call, username: string): Promise<Json>
  /** @returns the uid */
  createUser(call: Call, username: string, password: string): Promise<string>
  deleteUser(call: Call, uid: string): Promise<void>
  setPassword(call: Call, uid: string, password: string): Promise<void>
  addPermission(call: Call, uid: string, name: string): Promise<void>
  removePermission(call: Call, uid: string, name: string): Promise<void>
}

/** No valid credential is longer, and hashing time grows with length. */
const Credential = z.string().max(1000)
const Uid = z.string().min(1).max(200)

/** A valid username or uid. */
export const Name = z
  .string()
  .min(1)
  .max(200)
  .refine(isPlain, { error: 'must not contain control characters or characters that change the text direction' })

export const TenantValues = z
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
  .max(100)

const Reason = z.string().min(1).max(LONGEST_REASON).refine(isPlain)

export default function security(ports: SecurityPorts, limits: Limits): Plugin {
  const Permission = z.string().min(1).max(limits.PERMISSION_LENGTH).refine(isVisible)
  return {
    name: 'security',
    onlyIfNamed: true,
    guest: new URL('./guest.ts', import.meta.url),
    commands: {
      login: command(
        z.tuple([Name, Name, z.array(Permission).min(1).max(limits.PERMISSIONS)]),
        (call, [username, uid, permissions]) => {
          const allowed = ports.permissions(call.solution)
          const known = allowed && new Set(allowed)
          const unknown = known && permissions.some((name) => !known.has(name))
          // The binding returns false in these cases, so only a guest that bypassed it gets here.
          if (!CALL_KINDS[call.kind].signsIn || unknown) return
          ports.logIn(call, { username, uid, permissions })
        },
        { decidesLogin: true },
      ),
      logout: command(
        z.tuple([z.string().max(63).nullable(), z.string().max(2048).nullable()]),
        (call, target) => ports.logOut(call, { solution: target[0], argument: target[1] }),
        { decidesLogin: true },
      ),
      requireSecondFactor: command(z.tuple([]), (call) => {
        // The binding returns false in other calls, so only a guest that bypassed it gets here.
        if (CALL_KINDS[call.kind].signsIn) ports.requireSecondFactor(call)
      }),
      confirm: command(z.tuple([Reason, z.boolean()]), (call, [reason, every]) => {
        // The binding throws in other calls, so only a guest that bypassed it gets here.
        if (ports.press(call) !== null && ports.user(call) !== null) ports.confirm(call, { reason, every })
      }),
      setTenantValue: command(z.tuple([TenantValues]), (call, [tenant]) => ports.setTenant(call, tenant)),
    },
    requests: {
      // These requests change only the counters of sign-in attempts, so the call can be retried.
      authenticate: request(
        z.tuple([Credential, Credential]),
        (call, args) => ports.users.authenticate(call, ...args),
        {
          changes: false,
        },
      ),
      checkPassword: request(z.tuple([Uid, Credential]), (call, args) => ports.users.checkPassword(call, ...args), {
        changes: false,
      }),
      checkPasswordHash: request(
        z.tuple([Credential, z.string().max(1000).nullable()]),
        (call, args) => ports.passwordHashes.check(call, ...args),
        { changes: false },
      ),
      hashPassword: request(z.tuple([Credential]), (call, args) => ports.passwordHashes.hash(call, ...args), {
        changes: false,
      }),
      getUser: request(z.tuple([Credential]), (call, args) => ports.users.getUser(call, ...args), { changes: false }),
      createUser: request(z.tuple([Name, Credential]), (call, args) => ports.users.createUser(call, ...args)),
      deleteUser: request(z.tuple([Uid]), (call, args) => nothing(ports.users.deleteUser(call, ...args))),
      setPassword: request(z.tuple([Uid, Credential]), (call, args) => nothing(ports.users.setPassword(call, ...args))),
      addPermission: request(z.tuple([Uid, Permission]), (call, args) =>
        nothing(ports.users.addPermission(call, ...args)),
      ),
      removePermission: request(z.tuple([Uid, Permission]), (call, args) =>
        nothing(ports.users.removePermission(call, ...args)),
      ),
    },
    settings: (solution): Json => ({ permissions: ports.permissions(solution) }),
    state: (call): Json => ({
      signsIn: CALL_KINDS[call.kind].signsIn,
      user: ports.user(call),
      tenant: ports.tenant(call),
      methods: ports.methods(call),
      press: ports.press(call),
    }),
  }
}

async function nothing(done: Promise<void>): Promise<Json> {
  await done
  return null
}

/** Matches strings without control characters, lone surrogates and bidirectional formatting characters. */
export function isPlain(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(text)
}
