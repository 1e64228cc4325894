import type { FoundSession } from '../../base/accounts/find-session.ts'
import type { Sessions } from '../../base/accounts/sessions.ts'
import type { Users } from '../../base/accounts/users.ts'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { ScriptError } from '../../runtime/plugin.ts'
import type { Visitor } from '../clients/visitor.ts'
import { BROWSER } from './sign-in.ts'

/** How a test opens the solution: the user and the URL. */
export type Opening = {
  readonly user?: {
    readonly username: string
    readonly uid?: string | undefined
    readonly permissions?: readonly string[] | undefined
    readonly tenant?: readonly (string | number)[] | undefined
    /**
     * Whether the user has just signed in or confirmed their identity. Default: false, which simulates an older
     * sign-in.
     */
    readonly confirmed?: boolean | undefined
  }
  readonly params?: Readonly<Record<string, string>>
  readonly locale?: string
  readonly loginForm?: boolean
}

export type VisitorParts = {
  readonly solution: ActiveSolution
  readonly users: Pick<Users, 'find' | 'permissionsFor'>
  readonly sessions: Pick<Sessions, 'start' | 'end'>
  /** Whether the test added the user with this uid. */
  readonly isAdded: (uid: string) => boolean
}

/**
 * Returns the visitor for a client. If a user is given, the visitor has a session. A user whom the test added has the
 * permissions they were added with, unless `user` contains others.
 * @throws ScriptError if a login form is requested that the solution doesn't have
 */
export async function visitorOf(
  { user, params = {}, locale = BROWSER.locale, loginForm = false }: Opening,
  parts: VisitorParts,
): Promise<Visitor> {
  const { solution, sessions } = parts
  if (loginForm && solution.manifest.loginForm === null) {
    throw new ScriptError('solution.json has no "loginForm", so there is no login form to open')
  }
  const session = await sessionOf(user, locale, parts)
  return {
    solution,
    isLoginForm: loginForm,
    found: session,
    address: BROWSER.address,
    client: { address: BROWSER.address, protocol: 'http', host: 'localhost' },
    serverUrl: BROWSER.serverUrl,
    locale,
    languages: locale,
    url: new Map(Object.entries(params)),
    page: `/solution/${solution.name}/index.html`,
    browser: 'test',
    account: null,
    forget: async () => {
      if (session !== null) await sessions.end(solution.name, session.cookie)
    },
  }
}

async function sessionOf(
  given: Opening['user'],
  locale: string,
  { solution, users, sessions, isAdded }: VisitorParts,
): Promise<FoundSession | null> {
  if (given === undefined) return null
  const known = given.uid === undefined ? await users.find(given.username) : null
  const isKnown = known !== null && isAdded(known.uid)
  const permissions = isKnown ? await users.permissionsFor(known.uid, solution.name) : []
  const session = {
    username: given.username,
    uid: isKnown ? known.uid : (given.uid ?? given.username),
    permissions: given.permissions ?? permissions,
    realm: solution.name,
    tenant: given.tenant ?? null,
    locale,
    source: isKnown ? ('users' as const) : ('' as const),
    selector: null,
    providerLogin: null,
    factorsOf: isKnown ? ('users' as const) : ('' as const),
    methods: isKnown ? (['password'] as const) : (['script'] as const),
    isConfirmed: given.confirmed === true,
    agent: null,
  }
  const { cookie, publicId, loggedInAt } = await sessions.start({ ...session, address: BROWSER.address })
  return { session: { ...session, publicId, loggedInAt, confirmedAt: session.isConfirmed ? loggedInAt : null }, cookie }
}
