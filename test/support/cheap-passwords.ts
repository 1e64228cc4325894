import type { Passwords } from '../../base/accounts/passwords.ts'

/** Passwords whose hashes cost nothing, for tests of what is done with them. The real ones have tests of their own. */
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
