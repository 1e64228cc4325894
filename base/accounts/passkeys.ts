import { createHash, randomBytes } from 'node:crypto'
import type { Tenant } from '../../plugins/security/host.ts'
import { parsedJson } from '../../runtime/json.ts'
import type { Limits } from '../../runtime/limits.ts'
import { z } from '../../runtime/zod.ts'
import type { PlatformKey } from '../config/platform-key.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import type { AccountSourceName } from './account-source-name.ts'
import { accountId, type FactorAccount } from './factor-account.ts'
import type { Factors } from './factors.ts'

/** A page's address, as WebAuthn describes it. */
export type PasskeyPlace = {
  /** The domain that passkeys are bound to: the host name or one of its parent domains. */
  readonly rpId: string
  /** The scheme, host and port of the page. */
  readonly origin: string
}

/**
 * The result of using a passkey. - `isVerified`: the passkey verified its user, for example by a fingerprint, so it
 * completes both steps.
 * - `copied`: the counter suggests that the passkey was copied, so it is no longer accepted.
 */
export type PasskeyUse =
  | {
      readonly kind: 'right'
      readonly account: FactorAccount
      readonly isVerified: boolean
      readonly user: PasskeyUser
      /** When the passkey was last used before, in epoch ms. If never, when it was created. */
      readonly lastUsedAt: number
    }
  | { readonly kind: 'refused' }
  | { readonly kind: 'copied'; readonly account: FactorAccount; readonly user: PasskeyUser }

/** The user who was signed in when the passkey was created. */
export type PasskeyUser = {
  readonly username: string
  readonly permissions: readonly string[]
  readonly tenant: Tenant | null
  readonly locale: string
}

/** Consumes the challenge that the passkey signed. @returns whether it was issued for this request and is unused */
export type ChallengeCheck = (challenge: string) => Promise<boolean>

/**
 * The passkeys (WebAuthn level 3) of all accounts. The scripts in base/web/passkeys send responses as JSON. Anyone can
 * forge a response, so each value is checked.
 */
export interface Passkeys {
  /** The options of `navigator.credentials.create`, as JSON. */
  creation(account: FactorAccount, challenge: string, label: PasskeyLabel, place: PasskeyPlace): Promise<string>
  /** The options of `navigator.credentials.get`, as JSON. @param account null to let the user choose the account */
  request(account: FactorAccount | null, challenge: string, place: PasskeyPlace): Promise<string>
  /** @returns `taken`: the passkey is already registered; `full`: the account has the maximum number of passkeys */
  add(
    account: FactorAccount,
    answer: string,
    isOurs: ChallengeCheck,
    place: PasskeyPlace,
    label: { readonly name: string; readonly user: PasskeyUser },
  ): Promise<{ readonly kind: 'added'; readonly isVerified: boolean } | { readonly kind: 'refused' | 'taken' | 'full' }>
  /** @param account null to accept any account; the response must then identify the account */
  use(account: FactorAccount | null, answer: string, isOurs: ChallengeCheck, place: PasskeyPlace): Promise<PasskeyUse>
}

export type PasskeyLabel = { readonly issuer: string; readonly username: string }

/**
 * Maximum length of a response, in characters. Even a response with the longest credential id and an RSA key is
 * shorter.
 */
const LONGEST_ANSWER = 16_000
const LONGEST_ID = 1023
/** How long the browser waits for the user's passkey, in ms. */
const BROWSER_WAITS = 5 * 60_000
/** ES256, EdDSA and RS256. @see IANA, "COSE Algorithms" */
const ALGORITHMS = [-7, -8, -257]

const Bytes = z.string().regex(/^[A-Za-z0-9_-]+$/)
const Transports = z.array(z.string().max(32)).max(10)
const common = { id: Bytes, rawId: Bytes, type: z.literal('public-key'), clientExtensionResults: z.strictObject({}) }

const Registration = z.strictObject({
  ...common,
  response: z.strictObject({
    clientDataJSON: Bytes,
    attestationObject: Bytes,
    transports: Transports.transform((all) => all as ('usb' | 'nfc' | 'ble' | 'internal' | 'hybrid')[]),
  }),
})

const Assertion = z.strictObject({
  ...common,
  response: z.strictObject({
    clientDataJSON: Bytes,
    authenticatorData: Bytes,
    signature: Bytes,
    userHandle: Bytes.optional(),
  }),
})

/**
 * Browsers may add other members. Unlike the library, this schema rejects registrations from cross-origin iframes.
 */
const ClientData = z.looseObject({
  type: z.string(),
  challenge: Bytes,
  crossOrigin: z.literal(false).optional(),
  topOrigin: z.undefined().optional(),
})

/** The decrypted content of the column `secret`. */
type Stored = {
  readonly credentialId: string
  /** In COSE format, as base64url. */
  readonly publicKey: string
  readonly transports: readonly string[]
  /** Whether the passkey may be synced to other devices (the flag "backup eligible"). This never changes. */
  readonly mayBeSynced: boolean
  readonly user: PasskeyUser
}

/** @param now returns the current time in epoch milliseconds */
export function createPasskeys(
  db: Database,
  key: PlatformKey,
  factors: Pick<Factors, 'open' | 'unlock'>,
  limits: Limits,
  now: () => number = Date.now,
): Passkeys {
  async function storedOf(account: FactorAccount, rpId: string): Promise<readonly Stored[]> {
    const id = accountId(account)
    const rows = await db
      .selectFrom('factors')
      .select('secret')
      .where('account', '=', id)
      .where('kind', '=', 'passkey')
      .where('rp_id', '=', rpId)
      .execute()
    return rows.flatMap(({ secret }) => read(id, secret) ?? [])
  }

  function read(account: string, secret: string): Stored | null {
    const text = key.decrypt(purposeOf(account), secret)
    return text === null ? null : (JSON.parse(text) as Stored)
  }

  return {
    async creation(account, challenge, { issuer, username }, { rpId }) {
      const { userHandle } = await factors.open(account)
      return JSON.stringify({
        challenge,
        rp: { id: rpId, name: issuer },
        user: { id: userHandle, name: username, displayName: username },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        timeout: BROWSER_WAITS,
        attestation: 'none',
        excludeCredentials: (await storedOf(account, rpId)).map(descriptorOf),
        // Chosen here: preferred, not required, so that older security keys can be registered as a second step.
        authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
      })
    },
    async request(account, challenge, { rpId }) {
      const own = account === null ? [] : await storedOf(account, rpId)
      return JSON.stringify({
        challenge,
        rpId,
        timeout: BROWSER_WAITS,
        allowCredentials: own.map(descriptorOf),
        userVerification: account === null ? 'required' : 'preferred',
      })
    },
    async add(account, answer, isOurs, place, { name, user }) {
      const given = readAnswer(answer, Registration)
      if (given === null || idLength(given.id) > LONGEST_ID) return { kind: 'refused' }
      const challenge = challengeIn(given.response.clientDataJSON, 'webauthn.create')
      if (challenge === null || !(await isOurs(challenge))) return { kind: 'refused' }
      const registered = await verifyRegistration(given, challenge, place)
      if (registered === null) return { kind: 'refused' }
      const { id } = await factors.open(account)
      const own = await db
        .selectFrom('factors')
        .select('id')
        .where('account', '=', id)
        .where('kind', '=', 'passkey')
        .execute()
      if (own.length >= limits.PASSKEYS_ACCOUNT) return { kind: 'full' }
      const stored: Stored = {
        credentialId: given.id,
        publicKey: Buffer.from(registered.credential.publicKey).toString('base64url'),
        transports: given.response.transports,
        mayBeSynced: registered.credentialDeviceType === 'multiDevice',
        user,
      }
      const isAdded = await insertOnce(db, 'factors', {
        id: randomBytes(12).toString('base64url'),
        account: id,
        kind: 'passkey',
        lookup: lookupOf(given.id),
        name,
        secret: key.encrypt(purposeOf(id), JSON.stringify(stored)),
        rp_id: place.rpId,
        synced: registered.credentialBackedUp ? 1 : 0,
        counter: registered.credential.counter,
        created_at: now(),
        last_used_at: null,
        refused_at: null,
      })
      return isAdded ? { kind: 'added', isVerified: registered.userVerified } : { kind: 'taken' }
    },
    async use(account, answer, isOurs, place) {
      const given = readAnswer(answer, Assertion)
      const challenge = given && challengeIn(given.response.clientDataJSON, 'webauthn.get')
      if (given === null || challenge === null) return REFUSED
      const row = await db
        .selectFrom('factors')
        .innerJoin('factor_accounts', 'factor_accounts.id', 'factors.account')
        .select(['factors.id', 'account', 'secret', 'rp_id', 'refused_at', 'last_used_at', 'factors.created_at'])
        .select(['source', 'solution', 'uid', 'user_handle'])
        .where('lookup', '=', lookupOf(given.id))
        .executeTakeFirst()
      if (row === undefined || row.rp_id !== place.rpId || row.refused_at !== null) return REFUSED
      if (account !== null && accountId(account) !== row.account) return REFUSED
      const { userHandle } = given.response
      if (userHandle === undefined ? account === null : userHandle !== row.user_handle) return REFUSED
      const stored = read(row.account, row.secret)
      if (stored === null || !(await isOurs(challenge))) return REFUSED
      const used = await verifyAssertion(given, stored, challenge, place)
      if (used === null || (used.credentialDeviceType === 'multiDevice') !== stored.mayBeSynced) return REFUSED
      const owner = { source: row.source as AccountSourceName, solution: row.solution, uid: row.uid }
      if (!(await noteUse(row.id, used.newCounter, used.credentialBackedUp))) return copied(row.id, owner, stored.user)
      await factors.unlock(owner)
      const lastUsedAt = row.last_used_at ?? row.created_at
      return { kind: 'right', account: owner, isVerified: used.userVerified, user: stored.user, lastUsedAt }
    },
  }

  /** @returns false if the counter did not increase. Synced passkeys have no counter: they always send 0. */
  async function noteUse(id: string, counter: number, isSynced: boolean): Promise<boolean> {
    const { numUpdatedRows } = await db
      .updateTable('factors')
      .set({ counter, synced: isSynced ? 1 : 0, last_used_at: now() })
      .where('id', '=', id)
      .where('refused_at', 'is', null)
      .where((row) => row.or([row('counter', '<', counter), ...(counter === 0 ? [row('counter', '=', 0)] : [])]))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async function copied(id: string, account: FactorAccount, user: PasskeyUser): Promise<PasskeyUse> {
    await db.updateTable('factors').set({ refused_at: now() }).where('id', '=', id).execute()
    return { kind: 'copied', account, user }
  }
}

const REFUSED = { kind: 'refused' } as const

function readAnswer<Answer>(text: string, schema: z.ZodType<Answer>): Answer | null {
  if (text.length > LONGEST_ANSWER) return null
  const answer = schema.safeParse(parsedJson(text))
  return answer.success ? answer.data : null
}

/** @returns the challenge in base64url; null if the data has another type or was created in a cross-origin iframe */
function challengeIn(clientDataJSON: string, type: 'webauthn.create' | 'webauthn.get'): string | null {
  const data = ClientData.safeParse(parsedJson(Buffer.from(clientDataJSON, 'base64url').toString('utf8')))
  return data.success && data.data.type === type ? data.data.challenge : null
}

async function verifyRegistration(response: z.output<typeof Registration>, challenge: string, place: PasskeyPlace) {
  // Loads the library when the first passkey is used, because it is large and many hosts never need it.
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: challenge,
      expectedOrigin: place.origin,
      expectedRPID: place.rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    return registrationInfo ?? null
  } catch {
    // The error isn't logged: the sender caused it, and an operator can't fix it.
    return null
  }
}

async function verifyAssertion(
  response: z.output<typeof Assertion>,
  { credentialId, publicKey }: Stored,
  challenge: string,
  place: PasskeyPlace,
) {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const { userHandle, ...rest } = response.response
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...response, response: userHandle === undefined ? rest : { ...rest, userHandle } },
      expectedChallenge: challenge,
      expectedOrigin: place.origin,
      expectedRPID: place.rpId,
      requireUserVerification: false,
      // `noteUse` checks the counter instead, in the database. If several hosts receive the same value, only one of
      // them accepts it.
      credential: { id: credentialId, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: 0 },
    })
    return verified ? authenticationInfo : null
  } catch {
    return null
  }
}

function descriptorOf({ credentialId, transports }: Stored) {
  return { type: 'public-key', id: credentialId, transports }
}

function idLength(id: string): number {
  return Buffer.from(id, 'base64url').length
}

/** A hash, because a credential id can be too long for a key. */
function lookupOf(credentialId: string): string {
  return createHash('sha256').update(`passkey ${credentialId}`).digest('hex')
}

function purposeOf(account: string): string {
  return `passkey ${account}`
}
