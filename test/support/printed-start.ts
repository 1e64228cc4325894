export type PrintedUser = {
  readonly solution: string
  readonly tenant: string | undefined
  readonly username: string
  readonly password: string
  readonly permissions: readonly string[]
}

/** Reads from the host's startup output what a user needs: the solutions' URLs and the accounts. */
export function readPrinted(screen: string) {
  const users: PrintedUser[] = []
  const solutions: string[] = []
  for (const line of screen.split('\n')) {
    const [, solution] = /^ {2}http:\S+\/solution\/([a-z-]+)\/$/.exec(line.trimEnd()) ?? []
    if (solution !== undefined) solutions.push(solution)
    const [, tenant, username, password, names] =
      /^ {6}Sign in (?:to tenant (\S+) )?as (\S+), password (\S+) \(permissions? ([^;)]+)/.exec(line) ?? []
    if (username === undefined || password === undefined) continue
    const permissions = (names ?? '').split(', ').sort()
    users.push({ solution: solutions.at(-1) ?? '', tenant, username, password, permissions })
  }
  const [, url = ''] = /^Solhost is running at (http:\S+)\/$/m.exec(screen) ?? []
  const [, pages = ''] = /^Admin pages: +(http:\S+)$/m.exec(screen) ?? []
  const [, adminPassword = ''] = /account "admin" is (\S+) \(shown only once\)/.exec(screen) ?? []
  const [, access = ''] = /grant the solution access to the users table at (http:\S+)/.exec(screen) ?? []
  const admin = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  return { users, solutions, url, pages, access, adminPassword, host: { url, admin } }
}
