/** The scripts that a context contains. */
export type Unit = 'authenticator' | 'main' | 'configuration'

/**
 * - `login`: an authenticator handles one login attempt.
 * - `open`: the main solution opens for a page or client.
 * - `configuration`: `getOAuthConfig` returns settings. Its commands have no effect.
 * - `request`: an endpoint responds to an HTTP request.
 * - `job`: a job runs.
 */
export type CallKind = 'login' | 'open' | 'configuration' | 'request' | 'job'

export type ProcessGroup = 'logins' | 'requests' | 'jobs'

export type CallRules = {
  /** The default unit. Callers can specify another one. */
  readonly unit: Unit
  readonly timeLimit: 'CALL_TIME' | 'AUTHENTICATOR_TIME' | 'REQUEST_TIME' | 'JOB_TIME'
  /**
   * The processes that run calls of this kind outside clients. Each group has separate processes and a separate
   * quarantine.
   */
  readonly processes: ProcessGroup
  /**
   * With `text`, the entry function returns a string. With `json`, it returns any value or, in an endpoint, a response.
   */
  readonly result: 'text' | 'json'
  readonly resultLimit: 'RESULT_SIZE' | 'ANSWER_SIZE'
  readonly hasEffects: boolean
  /** Whether `security.login` works. */
  readonly signsIn: boolean
  /** Bindings that throw a TypeError, because the call has no page and no session that they could change. */
  readonly refuses: readonly string[]
}

const OF_PAGES = { processes: 'logins', result: 'text', resultLimit: 'RESULT_SIZE', refuses: [] } as const

/** Chosen here: the bindings that need a page or a session, including those that only clients have. */
const NEED_PAGE = [
  'security.logout',
  'security.setTenantValue',
  'security.confirm',
  'application.showURL',
  'application.showForm',
  'application.closeSolution',
  'application.executeLater',
  'application.cancelLater',
] as const

/** The rules for each kind of call. */
export const CALL_KINDS: Readonly<Record<CallKind, CallRules>> = {
  login: { ...OF_PAGES, unit: 'authenticator', timeLimit: 'AUTHENTICATOR_TIME', hasEffects: true, signsIn: true },
  open: { ...OF_PAGES, unit: 'main', timeLimit: 'CALL_TIME', hasEffects: true, signsIn: false },
  configuration: { ...OF_PAGES, unit: 'configuration', timeLimit: 'CALL_TIME', hasEffects: false, signsIn: false },
  request: {
    unit: 'main',
    timeLimit: 'REQUEST_TIME',
    processes: 'requests',
    result: 'json',
    resultLimit: 'ANSWER_SIZE',
    hasEffects: true,
    signsIn: false,
    refuses: NEED_PAGE,
  },
  job: {
    unit: 'main',
    timeLimit: 'JOB_TIME',
    processes: 'jobs',
    result: 'json',
    resultLimit: 'RESULT_SIZE',
    hasEffects: true,
    signsIn: false,
    refuses: NEED_PAGE,
  },
}
