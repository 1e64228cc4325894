import type { Passwords } from '../../base/accounts/passwords.ts'

/** Password hashes that take no time, for tests of what is done with them. The real ones have separate tests. */
export const cheapPasswords: Passwords = {
  hash: async (password) => hashOf(password),
  verify: async (passwordHash, password) => passwordHash === hashOf(password),
  run: (work) => work(),
  width: 3,
  needsRehash: () => false,
}

function hashOf(password: string): string {
  return `cheap:${Buffer.from(password.normalize('NFC')).toString('hex')}`
}
