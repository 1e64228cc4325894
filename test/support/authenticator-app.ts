import { setTimeout as wait } from 'node:timers/promises'
import { Secret, TOTP } from 'otpauth'
import type { Visitor } from './http.ts'

/** The page's form fields, and the secret that a user adds to their app. */
export function readNewApp(html: string) {
  const setup = /name="setup" value="([^"]+)"/.exec(html)?.[1] ?? ''
  const secret = (/class="setup-key">([^<]+)</.exec(html)?.[1] ?? '').replaceAll(' ', '')
  return { setup, secret }
}

/** When each secret was first used, in epoch ms. */
const firstUses = new Map<string, number>()

/**
 * Returns the code for the previous, current or next time step. Use the codes in this order, because using one
 * invalidates older ones. Time steps are relative to the secret's first use, so a slow test gets the same codes.
 */
export function codeOf(secret: string, step: -1 | 0 | 1): string {
  const from = firstUses.get(secret) ?? Date.now()
  firstUses.set(secret, from)
  return codeAt(secret, from + step * 30_000)
}

/**
 * Returns `codeOf` for the previous time step. If the current step is about to end, first waits for the next one.
 * Otherwise, the code might be too old when the host receives it.
 */
export async function firstCodeOf(secret: string): Promise<string> {
  const left = 30_000 - (Date.now() % 30_000)
  // Timers in a busy process can end a few ms early.
  if (left < 2_000) await wait(left + 100)
  return codeOf(secret, -1)
}

function codeAt(secret: string, timestamp: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
}

/** Returns a code that is wrong in every time step that the host accepts. */
export function wrongCode(secret: string): string {
  const right = [-2, -1, 0, 1, 2].map((step) => codeAt(secret, Date.now() + step * 30_000))
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) ?? ''
}

export function recoveryCodesIn(html: string): string[] {
  return [...html.matchAll(/<code>([0-9a-z]{5}-[0-9a-z]{5})<\/code>/g)].map(([, code]) => code ?? '')
}

/** Adds an authenticator app on the account page. The user must have just signed in. */
export async function addApp(browser: Pick<Visitor, 'get' | 'post'>, solution: string) {
  await browser.get(`/solution/${solution}/account`)
  const page = await browser.post(`/solution/${solution}/account`, { act: 'new-app' })
  const { setup, secret } = readNewApp(page.text)
  const added = await browser.post(`/solution/${solution}/account`, {
    act: 'add-app',
    setup,
    code: await firstCodeOf(secret),
  })
  if (added.status !== 200) throw new Error(added.text)
  return { secret, recoveryCodes: recoveryCodesIn(added.text) }
}
