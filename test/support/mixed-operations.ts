import type { HostGroup } from './host-group.ts'
import { type Answer, type Ask, ask } from './http.ts'
import { seededRandom } from './random.ts'
import { addUser, askAdmin, PASSWORD, visit } from './users.ts'
import { bundleOf, moduleFile } from './zip.ts'

/**
 * How many times each operation runs in one round. Password guesses are additional; their number depends on the number
 * of attacked accounts.
 */
const MIX = {
  'sign-in': 48,
  check: 60,
  return: 30,
  'two-tabs': 8,
  logout: 24,
  publish: 6,
  token: 8,
} as const
type Kind = keyof typeof MIX | 'guess'

const USERS = 16
/** The maximum time, in ms, until a change on one host applies on the others. The documentation promises 1 s. */
const WITHIN = 1000
const LOOK_EVERY = 50
/** The number of guesses per account. */
const GUESSES = 20
/** The number of networks from which an account is attacked, if it is more than one. */
const NETWORKS = 5
/** The solutions whose new versions are published during the test. Each authenticator returns its version. */
const PUBLISHED = ['app-1', 'app-2', 'app-3'] as const

export type Target = {
  readonly username: string
  readonly isWide: boolean
  /** The response statuses of the guesses, in the order in which they arrived. */
  readonly statuses: number[]
}

/** The results of all operations. Times are in ms, counted from the response that confirmed the operation. */
export type MixedResult = {
  readonly operations: number
  /** Descriptions of the operations that got an unexpected response. */
  readonly unexpected: readonly string[]
  /** For each new session and host, the time until the host accepted the session. */
  readonly found: readonly number[]
  /** For each ended session and host, how long the host still accepted the session. */
  readonly gone: readonly number[]
  /** For each published version and host, how long the host still served the previous version. */
  readonly served: readonly number[]
  /** For each "remember" cookie that was used, how many new ones it was exchanged for. */
  readonly exchanges: readonly number[]
  /** For each login token, how many browsers it signed in. */
  readonly tokens: readonly number[]
  readonly targets: readonly Target[]
  /** The sessions that are still valid at the end, by cookie. */
  readonly live: ReadonlyMap<string, SignedIn>
  /**
   * The number of responses with a status of 500 or above. Direct requests to a host, without the load balancer, are
   * included.
   */
  readonly serverErrors: number
}

export type SignedIn = { readonly solution: string; readonly username: string }

type Browser = SignedIn & {
  readonly at: Awaited<ReturnType<typeof visit>>
  readonly address: string
  readonly remembers: boolean
}

/**
 * A version in a solution's history, and the period in which hosts may serve it. Times are in the format of
 * `performance.now()`.
 */
type Publication = { readonly version: string; readonly from: number; until: number }

type Plan = {
  readonly seed: number
  /** How many operations run at the same time. */
  readonly width: number
  /** How many rounds of the mix to run. */
  readonly times: number
  /** How many accounts are attacked from one network each. */
  readonly narrow: number
  /** How many accounts are attacked from several networks each. */
  readonly wide: number
}

export async function mixedOperations(group: HostGroup, plan: Plan): Promise<MixedResult> {
  const { seed, width, times, narrow, wide } = plan
  const random = seededRandom(seed)
  const urls = group.hosts.map(({ url }) => url)
  const unexpected: string[] = []
  const found: number[] = []
  const gone: number[] = []
  const served: number[] = []
  const exchanges = new Map<string, number>()
  const tokens: number[] = []
  const live = new Map<string, SignedIn>()
  const signedIn: Browser[] = []
  const later: Promise<void>[] = []
  let addresses = 0
  let serverErrors = 0

  const newAddress = () => `10.${(++addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`
  const names = Array.from({ length: USERS }, (_, index) => `user-${index}`)
  const targets: Target[] = Array.from({ length: narrow + wide }, (_, index) => ({
    username: `target-${index}`,
    isWide: index >= narrow,
    statuses: [],
  }))
  const crm = await bundleOf({ name: 'crm', authenticator: 'DEFAULT' })
  await publishAt(group.url, 'crm', crm)
  for (const username of [...names, ...targets.map((target) => target.username)]) await addUser(group, username)
  const apps = await Promise.all(PUBLISHED.map(createApp))
  const guesses = random.shuffled((await Promise.all(targets.map(guessesAt))).flat())

  async function askHost(url: string, path: string, options: Ask): Promise<Answer> {
    const answer = await ask(`${url}${path}`, options)
    if (answer.status >= 500) serverErrors++
    return answer
  }

  async function publishAt(url: string, name: string, bundle: Buffer): Promise<{ status: number; sha256: string }> {
    const headers = { authorization: group.admin, 'content-type': 'application/zip' }
    const answer = await askHost(url, `/admin/api/solutions/${name}`, { method: 'PUT', headers, body: bundle })
    if (answer.status !== 201 && answer.status !== 200) unexpected.push(`upload of ${name}: ${answer.status}`)
    return { status: answer.status, sha256: (answer.json() as { sha256: string }).sha256 }
  }

  /**
   * Creates a solution whose versions are published one at a time. Each upload or activation starts only after the
   * previous one has finished.
   */
  async function createApp(name: string) {
    const history: Publication[] = []
    const uploaded: { readonly version: string; readonly sha256: string }[] = []
    let before = Promise.resolve()

    async function upload(targetUrls: readonly string[]): Promise<void> {
      const version = `v${uploaded.length}`
      const bundle = await appBundle(name, version, uploaded.length)
      await publication(version, targetUrls, async () => {
        const answers = await Promise.all(targetUrls.map((url) => publishAt(url, name, bundle)))
        uploaded.push({ version, sha256: answers[0]?.sha256 ?? '' })
      })
    }

    async function activate(url: string): Promise<void> {
      const { version, sha256 } = uploaded[random.below(uploaded.length)] as (typeof uploaded)[number]
      const headers = { authorization: group.admin, 'content-type': 'application/json' }
      await publication(version, [url], async () => {
        const body = JSON.stringify({ sha256 })
        const answer = await askHost(url, `/admin/api/solutions/${name}/activate`, { method: 'POST', headers, body })
        if (answer.status !== 200) unexpected.push(`activation of ${name}: ${answer.status}`)
      })
    }

    async function publication(version: string, by: readonly string[], work: () => Promise<void>): Promise<void> {
      const current: Publication = { version, from: performance.now(), until: Number.POSITIVE_INFINITY }
      const previous = history.at(-1)
      history.push(current)
      await work()
      const done = performance.now()
      if (previous !== undefined) previous.until = done + WITHIN
      await Promise.all(
        urls.map(async (url) => {
          const old = await lastTime(done, async () => (await askHost(url, media(name), {})).text !== version)
          if (!by.includes(url)) served.push(old)
          else if (old > 0) unexpected.push(`${name} was served as before by the host that activated ${version}`)
        }),
      )
    }

    await upload([urls[0] as string])
    return {
      name,
      publish(): Promise<void> {
        const choice = random.next()
        const url = urls[random.below(urls.length)] as string
        const mine = before.then(() => (choice < 0.6 ? upload(choice < 0.4 ? [url] : urls) : activate(url)))
        before = mine
        return mine
      },
      /** Whether a host was allowed to serve this version at some time between `from` and `to`. */
      mayServe: (version: string, from: number, to: number) =>
        history.some((entry) => entry.version === version && entry.from <= to && entry.until >= from),
    }
  }

  /**
   * Polls until the condition is false.
   * @returns how long after `done` the condition was last true, in ms; 0 if it never was
   */
  async function lastTime(done: number, isStillSo: () => Promise<boolean>): Promise<number> {
    let last = 0
    for (;;) {
      const asked = performance.now()
      if (!(await isStillSo())) return last
      last = asked - done
      if (last > 10 * WITHIN) return last
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY))
    }
  }

  async function guessesAt(target: Target): Promise<(() => Promise<void>)[]> {
    const browsers = await Promise.all(
      Array.from({ length: target.isWide ? NETWORKS : 1 }, () =>
        visit(group, 'crm', { 'x-forwarded-for': newAddress() }),
      ),
    )
    return Array.from({ length: GUESSES }, (_, index) => async () => {
      const browser = browsers[index % browsers.length] as (typeof browsers)[number]
      const { status, headers } = await browser.signIn(target.username, `wrong guess ${index}`)
      target.statuses.push(status)
      if (status === 429 && headers['retry-after'] === undefined) unexpected.push('429 without Retry-After')
    })
  }

  function isKnownOn(url: string, { solution, username }: SignedIn, cookie: string): Promise<boolean> {
    const headers = { cookie: `session-${solution}=${cookie}` }
    return askHost(url, `/solution/${solution}/session`, { headers }).then(
      ({ status, text }) => status === 200 && text.includes(`"username":"${username}"`),
    )
  }

  async function acknowledged(who: SignedIn, cookie: string | undefined): Promise<void> {
    if (cookie === undefined) {
      unexpected.push(`a sign-in of ${who.username} without a session`)
      return
    }
    const done = performance.now()
    live.set(cookie, { solution: who.solution, username: who.username })
    await Promise.all(
      urls.map(async (url) => {
        found.push(await lastTime(done, async () => !(await isKnownOn(url, who, cookie))))
      }),
    )
  }

  async function signIn(): Promise<void> {
    const app = random.next() < 0.4 ? apps[random.below(apps.length)] : undefined
    const remembers = random.next() < 0.6
    const username = names[random.below(names.length)] as string
    const address = newAddress()
    const solution = app?.name ?? 'crm'
    const at = await visit(group, solution, { 'x-forwarded-for': address })
    const start = performance.now()
    const answer = await at.signIn(username, PASSWORD, remembers ? { remember: 'on' } : {})
    if (answer.status !== 303) {
      unexpected.push(`sign-in at ${solution}: ${answer.status}`)
      return
    }
    const end = performance.now()
    const browser = { at, address, solution, username, remembers }
    await acknowledged(browser, at.cookie('session'))
    if (app !== undefined) {
      const [version = ''] = ((await at.session()).json() as { permissions: string[] }).permissions
      if (!app.mayServe(version, start, end))
        unexpected.push(`${solution} signed in by ${version}, which was not active`)
    }
    signedIn.push(browser)
  }

  /**
   * Returns a random browser that matches. Removes it from the list of signed-in browsers, so no other operation uses
   * it.
   */
  function take(isWanted: (browser: Browser) => boolean): Browser | undefined {
    const wanted = signedIn.filter(isWanted)
    const browser = wanted[random.below(wanted.length)]
    if (browser !== undefined) signedIn.splice(signedIn.indexOf(browser), 1)
    return browser
  }

  async function check(browser: Browser): Promise<void> {
    const answer = await browser.at.session()
    if (answer.status !== 200 || !answer.text.includes(`"username":"${browser.username}"`))
      unexpected.push(`a session of ${browser.username} at ${browser.solution}: ${answer.status}`)
    signedIn.push(browser)
  }

  /** Closes the browser, and opens it again with this number of tabs. All tabs load the page at the same time. */
  async function comeBack(browser: Browser, tabs: number): Promise<void> {
    const { at, solution, username } = browser
    const used = at.cookie('remember') ?? ''
    at.close()
    const pages = await Promise.all(Array.from({ length: tabs }, () => at.open()))
    let next = 0
    for (const page of pages) {
      if (page.status !== 200 || !page.text.includes(`Signed in as ${username}`))
        unexpected.push(`a remembered browser at ${solution}, ${tabs} tabs: ${page.status}`)
      next += setBy(page, `remember-${solution}`) === undefined ? 0 : 1
      await acknowledged(browser, setBy(page, `session-${solution}`))
    }
    exchanges.set(used, (exchanges.get(used) ?? 0) + next)
    signedIn.push(browser)
  }

  async function logOut(browser: Browser): Promise<void> {
    const cookie = browser.at.cookie('session') ?? ''
    const series = browser.at.cookie('remember')
    // Open the page that contains the sign-out button.
    await browser.at.open()
    const answer = await browser.at.logOut()
    const done = performance.now()
    if (answer.status !== 303) unexpected.push(`a logout at ${browser.solution}: ${answer.status}`)
    live.delete(cookie)
    later.push(
      ...urls.map(async (url) => {
        gone.push(await lastTime(done, () => isKnownOn(url, browser, cookie)))
      }),
    )
    if (series === undefined) return
    const thief = await visit(group, browser.solution, { 'x-forwarded-for': newAddress() })
    thief.cookies.set(`remember-${browser.solution}`, { value: series, path: '/' })
    if (!(await thief.open()).text.includes('name="password"'))
      unexpected.push(`a remembered login at ${browser.solution} lived on after the logout`)
  }

  async function useTokenTwice(): Promise<void> {
    const login = { username: `bearer-${tokens.length}`, uid: 'b', permissions: ['Users'] }
    const { token } = await askAdmin(group, 'POST', 'solutions/crm/login-tokens', login)
    const browsers = await Promise.all([1, 2].map(() => visit(group, 'crm', { 'x-forwarded-for': newAddress() })))
    const answers = await Promise.all(browsers.map((at) => at.post(at.page, { id_token: token as string })))
    tokens.push(answers.filter(({ status }) => status === 303).length)
    for (const [index, { status }] of answers.entries()) {
      const at = browsers[index] as (typeof browsers)[number]
      if (status === 303) await acknowledged({ solution: 'crm', username: login.username }, at.cookie('session'))
      else if (status !== 401) unexpected.push(`a login token: ${status}`)
    }
  }

  async function run(kind: Kind): Promise<void> {
    if (kind === 'sign-in') return signIn()
    if (kind === 'guess') return guesses.pop()?.()
    if (kind === 'token') return useTokenTwice()
    if (kind === 'publish') return apps[random.below(apps.length)]?.publish()
    const browser = take(kind === 'return' || kind === 'two-tabs' ? ({ remembers }) => remembers : () => true)
    // If no signed-in browser is suitable, sign in another user.
    if (browser === undefined) return signIn()
    if (kind === 'check') return check(browser)
    if (kind === 'logout') return logOut(browser)
    return comeBack(browser, kind === 'return' ? 1 : 2)
  }

  const counts = Object.entries(MIX) as [Kind, number][]
  const kinds = counts.flatMap(([kind, count]) => Array<Kind>(count * times).fill(kind))
  kinds.push(...guesses.map(() => 'guess' as const))
  const queue = random.shuffled(kinds).values()
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (const kind of queue) await run(kind)
    }),
  )
  await Promise.all(later)
  for (const [status, count] of group.statuses) if (status >= 500) serverErrors += count
  return {
    operations: kinds.length,
    unexpected,
    found,
    gone,
    served,
    exchanges: [...exchanges.values()],
    tokens,
    targets,
    live,
    serverErrors,
  }
}

function media(name: string): string {
  return `/solution/${name}/media/version.txt`
}

function appBundle(name: string, version: string, number: number): Promise<Buffer> {
  const script = `function onSolutionOpen(arg, q) {
    const isKnown = q.last_login ? q.last_login.username === q.username : q.password === ${JSON.stringify(PASSWORD)}
    if (isKnown) security.login(q.username, 'u-' + q.username, ['${version}'])
  }`
  return bundleOf(
    { name, version: `${number}.0.0`, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': script,
      'media/version.txt': version,
    },
  )
}

/** Returns the value that a response sets for a cookie. */
function setBy(answer: Answer, name: string): string | undefined {
  const line = answer.headers['set-cookie']?.find((one) => one.startsWith(`${name}=`))
  return line?.slice(name.length + 1).split(';')[0] || undefined
}
