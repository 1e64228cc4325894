import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PlatformError } from '../../runtime/errors.ts'
import type { Database } from '../database/open.ts'
import { insertOnce } from '../database/portable.ts'
import { cachedByText } from '../program/by-text.ts'
import { createFastHmac } from '../program/hmac.ts'

/** Signs and encrypts strings, each for one purpose. A signature is invalid for any other purpose. */
export type PlatformKey = {
  /** Returns the HMAC-SHA-256 as base64url. */
  readonly sign: (purpose: string, text: string) => string
  readonly verify: (purpose: string, text: string, signature: string) => boolean
  /**
   * Encrypts with AES-256-GCM and a random nonce; the result is base64url. Use a different `purpose` for each value,
   * such as the place where it is stored, so that values cannot be swapped.
   */
  readonly encrypt: (purpose: string, text: string) => string
  /** @returns null if the text was not created by `encrypt` for this purpose */
  readonly decrypt: (purpose: string, encrypted: string) => string | null
}

const NONCE = 12
const TAG = 16

function createPlatformKey(secret: string): PlatformKey {
  const keyOf = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'solhost', purpose, 32))
  const encryptionKey = keyOf('encryption')
  // Cached, because every login page needs a signature.
  const hmacFor = cachedByText(100, (purpose) => createFastHmac(keyOf(purpose)))
  return {
    sign: (purpose, text) => hmacFor(purpose)(text, 'base64url'),
    verify: (purpose, text, signature) => {
      const given = Buffer.from(signature, 'base64url')
      const expected = Buffer.from(hmacFor(purpose)(text, 'latin1'), 'latin1')
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
    encrypt(purpose, text) {
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', encryptionKey, nonce).setAAD(Buffer.from(purpose))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    decrypt(purpose, encrypted) {
      const all = Buffer.from(encrypted, 'base64url')
      if (all.length < NONCE + TAG) return null
      const decipher = createDecipheriv('aes-256-gcm', encryptionKey, all.subarray(0, NONCE), {
        authTagLength: TAG,
      })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(all.subarray(NONCE, NONCE + TAG))
      try {
        return Buffer.concat([decipher.update(all.subarray(NONCE + TAG)), decipher.final()]).toString('utf8')
      } catch {
        return null
      }
    },
  }
}

/**
 * Returns a value to store in the database. It shows later whether the same key is used, and reveals nothing else about
 * the key.
 */
export function keyCheckOf(secret: string): string {
  return createPlatformKey(secret).sign('key-check', 'solhost')
}

/**
 * Returns the platform's key: from the settings if set there, otherwise from a file in `home`. Creates the file when a
 * host first starts.
 * @throws ERR_PLATFORM_KEY if the database was used with another key, or the key's file cannot be used
 */
export async function openPlatformKey(db: Database, home: string, secretOfSettings: string): Promise<PlatformKey> {
  const key = createPlatformKey(
    secretOfSettings === '' ? readOrMakeSecret(join(home, 'platform-key')) : secretOfSettings,
  )
  const check = key.sign('key-check', 'solhost')
  await insertOnce(db, 'platform', { key: 'key_check', value: check })
  const kept = await db.selectFrom('platform').select('value').where('key', '=', 'key_check').executeTakeFirstOrThrow()
  if (kept.value === check) return key
  throw new PlatformError(
    'ERR_PLATFORM_KEY',
    'The platform’s key does not match its database. On all hosts, set PLATFORM_KEY to the key that ' +
      `the database was created with, or put the original file platform-key back into ${home}.`,
  )
}

function readOrMakeSecret(file: string): string {
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const secret = readFileSync(file, 'utf8').trim()
  if (secret.length >= 32) return secret
  throw new PlatformError('ERR_PLATFORM_KEY', `${file} does not contain a valid key. Put the original file back.`)
}
