import { expect } from 'vitest'
import { openClient } from '../client-page.ts'
import { createVisitor, type Visitor } from '../http.ts'
import { waitUntil } from '../wait-until.ts'
import type { Block, ClaimName } from './blocks.ts'

/** The host that runs the examples in a guide. */
export type GuideHost = { readonly url: string; readonly admin: string }

type Claim = {
  readonly host: GuideHost
  readonly solution: string
  /** The URL's query string, which starts with `?`, or "" if there is none. */
  readonly query: string
  /** The form fields to enter on the login page. */
  readonly fields: Record<string, string>
  /** The code block's content, which is the expected result. */
  readonly said: string
  /** How many lines the log already had when the solution was uploaded. */
  readonly logged: number
}

type LogLine = { level: string; file?: string; line?: number; column?: number; message: string; code?: string }

/**
 * Checks the result that a code block shows for its section's solution. The first word after the block's language
 * selects the check. For example, `session?tenant=acme username=anna&password=…` opens the page with the query
 * `?tenant=acme` and signs in with these fields.
 */
const PLAYED: Readonly<Record<Exclude<ClaimName, 'check'>, (claim: Claim) => Promise<void>>> = {
  /** Signs in and requests `session`. The block contains the expected response. */
  async session(claim) {
    const visitor = await signIn(claim, 303)
    const session = (await visitor.get(`/solution/${claim.solution}/session`)).json()
    expect(session).toMatchObject(JSON.parse(claim.said) as object)
  },
  /** Tries to sign in and expects the login page again. The block contains the text of the page's error label. */
  async refused(claim) {
    const visitor = await signIn(claim, 401)
    expect(labelIn(visitor.page)).toBe(claim.said.trim())
  },
  /** Opens the solution's client. The block contains the log lines that are written as a result. */
  async log(claim) {
    const visitor = Object.keys(claim.fields).length === 0 ? await arrive(claim) : await signIn(claim, 303)
    await openAndClose(claim, visitor)
    await expectLog(claim)
  },
  /**
   * Signs in with "remember", then opens the page again without a session. The block contains the log lines that are
   * written as a result.
   */
  async 'log-return'(claim) {
    const visitor = await signIn({ ...claim, fields: { ...claim.fields, remember: 'on' } }, 303)
    visitor.cookies.delete(`session-${claim.solution}`)
    expect((await visitor.get(addressOf(claim))).status).toBe(200)
    await expectLog(claim)
  },
  /** Opens the solution's client. Each line of the block must be part of the first form's text. */
  async form(claim) {
    const visitor = Object.keys(claim.fields).length === 0 ? await arrive(claim) : await signIn(claim, 303)
    const page = await openClient(claim.host.url, claim.solution, visitor, { query: claim.query })
    const words = page.words()
    page.close()
    for (const line of claim.said.trim().split('\n')) expect(words).toContain(line)
  },
}

export async function playClaim(block: Block, host: GuideHost, solution: string, logged: number): Promise<void> {
  const [first = '', entered = ''] = block.words
  const [name = '', query] = first.split('?')
  const play = PLAYED[name as keyof typeof PLAYED]
  await play({
    host,
    solution,
    query: query === undefined ? '' : `?${query}`,
    fields: Object.fromEntries(new URLSearchParams(entered)),
    said: block.code,
    logged,
  })
}

function addressOf({ solution, query }: Claim): string {
  return `/solution/${solution}/index.html${query}`
}

async function arrive(claim: Claim): Promise<Visitor> {
  const visitor = createVisitor(claim.host.url)
  expect((await visitor.get(addressOf(claim))).status).toBe(200)
  return visitor
}

async function signIn(claim: Claim, status: 303 | 401): Promise<Visitor & { readonly page: string }> {
  const visitor = await arrive(claim)
  const answer = await visitor.post(addressOf(claim), claim.fields)
  if (answer.status !== status) {
    throw new Error(`signing in was answered ${answer.status}: ${JSON.stringify(await readLog(claim))}`)
  }
  return { ...visitor, page: answer.text }
}

async function openAndClose({ host, solution, query }: Claim, visitor: Visitor): Promise<void> {
  const page = await openClient(host.url, solution, visitor, { query })
  page.close()
}

/** Returns the text of the page's element `errorlabel`. */
function labelIn(page: string): string | undefined {
  const [, label] = /<[^>]+id="errorlabel"[^>]*>(.*?)<\/(?:p|div|span)>/s.exec(page) ?? []
  return label?.trim()
}

export async function readLog({ host, solution }: Pick<Claim, 'host' | 'solution'>): Promise<LogLine[]> {
  const answer = await fetch(`${host.url}/admin/api/solutions/${solution}/log?limit=1000`, {
    headers: { authorization: host.admin },
  })
  return ((await answer.json()) as { items: LogLine[] }).items
}

/** Formats log lines as "solhost logs" prints them, but without time and reference. */
async function expectLog(claim: Claim): Promise<void> {
  await waitUntil(
    async () => {
      const lines = (await readLog(claim)).slice(claim.logged).map(({ level, file, line, column, code, message }) => {
        const at = file === undefined ? '' : ` ${[file, line, column].filter((part) => part !== undefined).join(':')}`
        return `${level.padEnd(5)}${at}${code === undefined ? '' : ` ${code}`}  ${message}`
      })
      expect(lines).toEqual(claim.said.trimEnd().split('\n'))
    },
    { interval: 50 },
  )
}
