import { expect, test } from 'vitest'
import { createSingleUseTokens } from '../../../base/accounts/single-use-token.ts'
import { openPlatformKey } from '../../../base/config/platform-key.ts'
import { z } from '../../../runtime/zod.ts'
import { temporaryFolder } from '../../support/cli.ts'
import { usePlace } from '../database/contract.ts'

const place = usePlace('embedded', async () => null)
const folder = temporaryFolder()
const MINUTE = 60_000

/** Login tokens and the challenges for passkeys are single-use tokens. */
test('single-use tokens: of 50 parallel uses of one token on two hosts, exactly one succeeds', async () => {
  const key = await openPlatformKey(place.db, folder.path, '')
  const kind = { purpose: 'test', content: z.strictObject({ account: z.string() }), longest: 1000 }
  const hosts = [1, 2].map(() => createSingleUseTokens(place.db, key, kind))
  const { token } = (hosts[0] as (typeof hosts)[0]).issue('crm', { account: 'anna' }, MINUTE)
  // An attempt for another solution or account fails and doesn't use up the token.
  expect(await hosts[1]?.consume('shop', token)).toBeNull()
  expect(await hosts[1]?.consume('crm', token, ({ account }) => account === 'ben')).toBeNull()
  const uses = Array.from({ length: 50 }, (_, index) => hosts[index % 2]?.consume('crm', token))
  const used = (await Promise.all(uses)).filter((content) => content !== null)
  expect(used).toEqual([{ account: 'anna' }])
})
