import { existsSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * Enables Node's compile cache, which halves the CPU time of later startups. The cache is in the account's cache folder
 * (XDG_CACHE_HOME). Node's default folder is shared by all accounts, so another account could write to it. If the cache
 * folder can't be created, as in a container, nothing is cached.
 */
export function keepCompiled({ XDG_CACHE_HOME = '' }: NodeJS.ProcessEnv): void {
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(homedir(), '.cache')
  // HOME may be empty, so the path may not be absolute.
  if (!isAbsolute(caches)) return
  try {
    // Don't use `recursive`: Node.js 26 retries forever if a parent folder cannot exist, such as /proc/a.
    if (!existsSync(caches)) mkdirSync(caches, { mode: 0o700 })
  } catch {
    return
  }
  enableCompileCache(join(caches, 'solhost'))
}
