import { readFileSync } from 'node:fs'
import type { ScriptLab } from '../test/support/solutions.ts'

/** The hook of measurement W1, which every platform in the comparison runs unchanged. */
export const HOOK = readFileSync(new URL('login-hook.js', import.meta.url), 'utf8')
export const CREDENTIALS = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }

/** Performs one login in a sandbox process, without HTTP. @throws if the login fails */
export async function labLogin(lab: ScriptLab, script = HOOK): Promise<void> {
  const { effects } = await lab.run({ script, queryParams: CREDENTIALS })
  if (effects.login?.username !== 'anna') throw new Error('the login failed')
}
