import { randomInt } from 'node:crypto'
import type { Limits } from '../../runtime/limits.ts'
import type { FoundSignIn, OpenSignIns } from './open-sign-ins.ts'
import { isSameSecret } from './same-secret.ts'

/** A code sent by email to a user who sets up their first factor during a sign-in. `expiresAt` is in epoch ms. */
export type MailedCode = { readonly text: string; readonly expiresAt: number }

export const CODE_TIME = 10 * 60_000
const CODE_TRIES = 3

/** @param now in epoch ms */
export function newMailedCode(now: number): MailedCode {
  return { text: String(randomInt(1_000_000)).padStart(6, '0'), expiresAt: now + CODE_TIME }
}

export function isCodeValid(code: MailedCode | null | undefined, now: number): code is MailedCode {
  return code != null && code.expiresAt > now
}

/**
 * Checks the code that the user typed. Counts the attempt first, so that parallel guesses are all counted.
 * @returns `over`: this was the last attempt, and the sign-in has ended
 */
export async function checkMailedCode<Open extends { readonly code?: MailedCode | null }>(
  found: FoundSignIn<Open>,
  typed: string,
  {
    openSignIns,
    limits,
    now,
  }: { readonly openSignIns: OpenSignIns<Open>; readonly limits: Limits; readonly now: () => number },
): Promise<boolean | 'over'> {
  const { code } = found.open
  const left = await openSignIns.noteWrong(found)
  const tries = limits.SECOND_STEP_TRIES - left
  if (tries <= CODE_TRIES && isCodeValid(code, now()) && isSameSecret(code.text, typed.replace(/\s/g, ''))) return true
  if (tries < CODE_TRIES && left > 0) return false
  await openSignIns.finish(found)
  return 'over'
}
