import type { AuthenticatorApps } from './authenticator-app.ts'
import type { FactorAccount } from './factor-account.ts'
import type { Factors } from './factors.ts'
import type { NoticeKind, Notices } from './notices.ts'
import type { PasskeyRequests } from './passkey-requests.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { Users } from './users.ts'

type Changed = {
  readonly factors: Factors
  readonly apps: AuthenticatorApps
  readonly passkeyRequests: PasskeyRequests
  readonly recoveryCodes: RecoveryCodes
}

/** Wraps the stores of factors, so that users in the users table get an email whenever their factors change. */
export function noticeChanges<Parts extends Changed>(
  parts: Parts,
  { notices, users }: { readonly notices: Notices; readonly users: Pick<Users, 'get'> },
): Parts {
  const { factors, apps, passkeyRequests, recoveryCodes } = parts

  async function notice(kind: NoticeKind, { source, uid }: FactorAccount): Promise<void> {
    const user = source === 'users' ? await users.get(uid) : null
    if (user !== null) notices.send(kind, user)
  }

  return {
    ...parts,
    apps: {
      ...apps,
      async add(account, ...more) {
        const added = await apps.add(account, ...more)
        if (added !== 'wrong' && added !== 'taken') await notice('factors', account)
        return added
      },
    },
    passkeyRequests: {
      ...passkeyRequests,
      async add(page, purpose, account, ...more) {
        const added = await passkeyRequests.add(page, purpose, account, ...more)
        if (added.kind === 'added') await notice('factors', account)
        return added
      },
    },
    factors: {
      ...factors,
      async remove(account, id) {
        const isRemoved = await factors.remove(account, id)
        if (isRemoved) await notice('factors', account)
        return isRemoved
      },
      async reset(account) {
        const { factors: before } = await factors.of(account)
        await factors.reset(account)
        if (before.length > 0) await notice('factors', account)
      },
    },
    recoveryCodes: {
      ...recoveryCodes,
      async renew(account) {
        const codes = await recoveryCodes.renew(account)
        await notice('factors', account)
        return codes
      },
      async use(account, code) {
        const left = await recoveryCodes.use(account, code)
        if (left !== null) await notice('recovery', account)
        return left
      },
    },
  }
}
