import { createHash, pbkdf2, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { verify as verifyArgon2 } from '@node-rs/argon2'
import { verify as verifyBcrypt } from '@node-rs/bcrypt'
import { normalized } from '../../base/program/normalized.ts'
import { ScriptError } from '../../runtime/plugin.ts'

/** Compares a password with one stored hash, in libuv's thread pool. */
export type HashCheck = (password: string) => Promise<boolean>

/**
 * The maximum cost of one check is about 1.5 s of CPU time and 128 MiB. The default hashes of all frameworks below cost
 * less. The limits prevent a hash from a malicious table from exhausting the host's memory or CPU time.
 */
export const MOST = {
  /** In KiB. */
  ARGON2_MEMORY: 128 * 1024,
  /** Memory in KiB times passes. */
  ARGON2_WORK: 512 * 1024,
  ARGON2_LANES: 16,
  BCRYPT_COST: 14,
  /** Iterations times the length of the key, counted in digest-sized blocks. */
  PBKDF2_WORK: 3_000_000,
  /** N times r, in units of 128 bytes. */
  SCRYPT_MEMORY: 1024 ** 2,
  /** N times r times p. */
  SCRYPT_WORK: 2 * 1024 ** 2,
} as const

/** Allowed key sizes in bytes. Shorter keys could match by chance, and longer ones are not used in practice. */
const SHORTEST_KEY = 16
const LONGEST_KEY = 128

const SIZES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const
type Digest = keyof typeof SIZES

type Format = {
  readonly pattern: RegExp
  /**
   * @param parts capture groups of the pattern
   * @returns null if the hash turns out not to have this format
   */
  readonly read: (parts: readonly string[], hash: string) => HashCheck | null
}

const B64 = '[A-Za-z0-9+/]+={0,2}'
const NUMBER = '[1-9]\\d{0,9}'

/**
 * The supported formats, in the order in which they are tried. `readHash` uses the first match whose `read` returns a
 * check.
 */
const FORMATS: readonly Format[] = [
  // PHC string format: https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md
  {
    pattern: new RegExp(
      `^\\$argon2(?:id|i|d)(?:\\$v=(?:16|19))?\\$m=(${NUMBER}),t=(${NUMBER}),p=(${NUMBER})\\$${B64}\\$(${B64})$`,
    ),
    read: ([memory, passes, lanes, key], hash) =>
      argon2(hash, Number(memory), Number(passes), Number(lanes), fromBase64(key)),
  },
  { pattern: /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/, read: ([cost], hash) => bcrypt(hash, Number(cost)) },
  {
    pattern: new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(${NUMBER}),p=(${NUMBER})\\$(${B64})\\$(${B64})$`),
    read: ([log, r, p, salt, key]) =>
      scryptOf(2 ** Number(log), Number(r), Number(p), fromBase64(salt), fromBase64(key)),
  },
  {
    pattern: new RegExp(`^\\$pbkdf2-(sha1|sha256|sha512)\\$i=(${NUMBER})(?:,l=\\d{1,3})?\\$(${B64})\\$(${B64})$`),
    read: ([digest, i, salt, key]) => pbkdf2Of(digest, Number(i), fromBase64(salt), fromBase64(key)),
  },
  // passlib: base64 with "." instead of "+" and without padding
  {
    pattern: new RegExp(`^\\$pbkdf2(?:-(sha256|sha512))?\\$(${NUMBER})\\$([A-Za-z0-9./]+)\\$([A-Za-z0-9./]+)$`),
    read: ([digest = 'sha1', i, salt = '', key = '']) =>
      pbkdf2Of(digest, Number(i), fromBase64(salt.replaceAll('.', '+')), fromBase64(key.replaceAll('.', '+'))),
  },
  // Django: https://docs.djangoproject.com/en/5.2/topics/auth/passwords/
  {
    pattern: new RegExp(`^pbkdf2_(sha1|sha256)\\$(${NUMBER})\\$([^$]+)\\$(${B64})$`),
    read: ([digest, i, salt = '', key]) => pbkdf2Of(digest, Number(i), Buffer.from(salt), fromBase64(key)),
  },
  {
    pattern: new RegExp(`^scrypt\\$(${NUMBER})\\$([^$]+)\\$(${NUMBER})\\$(${NUMBER})\\$(${B64})$`),
    read: ([n, salt = '', r, p, key]) => scryptOf(Number(n), Number(r), Number(p), Buffer.from(salt), fromBase64(key)),
  },
  { pattern: /^argon2(\$argon2.+)$/, read: ([inner = '']) => formatOf(inner) },
  { pattern: /^bcrypt\$(\$2.+)$/, read: ([inner = '']) => formatOf(inner) },
  {
    pattern: /^bcrypt_sha256\$(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/,
    read([inner = '', cost]) {
      const check = bcrypt(inner, Number(cost))
      return (password) => check(createHash('sha256').update(password).digest('hex'))
    },
  },
  // Werkzeug, Flask: https://werkzeug.palletsprojects.com/en/stable/utils/#werkzeug.security.generate_password_hash
  {
    pattern: new RegExp(`^scrypt:(${NUMBER}):(${NUMBER}):(${NUMBER})\\$([^$]+)\\$([0-9a-f]+)$`),
    read: ([n, r, p, salt = '', key]) => scryptOf(Number(n), Number(r), Number(p), Buffer.from(salt), fromHex(key)),
  },
  {
    pattern: new RegExp(`^pbkdf2:(sha1|sha256|sha512):(${NUMBER})\\$([^$]+)\\$([0-9a-f]+)$`),
    read: ([digest, i, salt = '', key]) => pbkdf2Of(digest, Number(i), Buffer.from(salt), fromHex(key)),
  },
  // Spring Security: https://docs.spring.io/spring-security/reference/features/authentication/password-storage.html
  { pattern: /^\{bcrypt\}(\$2.+)$/, read: ([inner = '']) => formatOf(inner) },
  { pattern: /^\{argon2(?:@SpringSecurity_v5_8)?\}(\$argon2.+)$/, read: ([inner = '']) => formatOf(inner) },
  { pattern: /^\{scrypt(?:@SpringSecurity_v5_8)?\}(\$.+)$/, read: ([inner = '']) => formatOf(inner) },
  { pattern: /^\{pbkdf2\}([0-9a-f]{80})$/, read: ([hex]) => saltedHex('sha1', 185_000, 8, fromHex(hex)) },
  {
    pattern: /^\{pbkdf2@SpringSecurity_v5_8\}([0-9a-f]{96})$/,
    read: ([hex]) => saltedHex('sha256', 310_000, 16, fromHex(hex)),
  },
  // Spring Security's scrypt, and the "$s0$" format of lambdaworks: log2(N), r and p in one hexadecimal number
  {
    pattern: new RegExp(`^(?:\\$s0)?\\$([0-9a-f]{5,6})\\$(${B64})\\$(${B64})$`),
    read([parameters = '', salt, key]) {
      const number = Number.parseInt(parameters, 16)
      return scryptOf(2 ** (number >> 16), (number >> 8) & 0xff, number & 0xff, fromBase64(salt), fromBase64(key))
    },
  },
  /*
   * The original product (Utils.calculatePBKDF2 of its public sources, github.com/Servoy/servoy-client) uses HMAC-SHA-1
   * with 8 bytes of salt and 9999 iterations. Its PBKDF2HexFormatter writes salt:iterations:key. The product's users
   * table prepends "PBKDF2:"; utils.stringPBKDF2Hash does not. Java encodes the password as ISO-8859-1, and replaces
   * each character outside it with "?".
   */
  {
    pattern: new RegExp(`^(?:PBKDF2:)?((?:[0-9A-Fa-f]{2})+):(${NUMBER}):((?:[0-9A-Fa-f]{2})+)$`),
    read([salt, i, key]) {
      const check = pbkdf2Of('sha1', Number(i), fromHex(salt), fromHex(key))
      return (password) => check(Buffer.from(password.replaceAll(/[^\u0000-\u00ff]/gu, '?'), 'latin1'))
    },
  },
  // ASP.NET Core Identity, versions 2 and 3 (PasswordHasher<TUser>)
  { pattern: new RegExp(`^(${B64})$`), read: ([text]) => aspNet(fromBase64(text)) },
]

/**
 * Accepts the password as typed and in NFC. Our own hashes use NFC, whereas other systems hash the password as typed.
 * @throws ScriptError if the format is unknown, or the hash costs more than `MOST`
 */
export function readHash(hash: string): HashCheck {
  const check = formatOf(hash)
  if (check !== null) {
    return async (password) => {
      const composed = normalized(password, 'NFC')
      return (await check(password)) || (composed !== password && (await check(composed)))
    }
  }
  throw new ScriptError(
    'security.checkPasswordHash: the format of this hash is not supported. Use an argon2, bcrypt, scrypt or PBKDF2 format that is ' +
      'listed in docs/authenticators.md; MD5, SHA and plain passwords are not supported.',
  )
}

function formatOf(hash: string): HashCheck | null {
  for (const { pattern, read } of FORMATS) {
    const match = pattern.exec(hash)
    const check = match && read(match.slice(1), hash)
    if (check) return check
  }
  return null
}

function argon2(hash: string, memory: number, passes: number, lanes: number, key: Buffer): HashCheck {
  needKey(key)
  if (memory > MOST.ARGON2_MEMORY) throw tooCostly('argon2', 'm', MOST.ARGON2_MEMORY)
  if (memory * passes > MOST.ARGON2_WORK) throw tooCostly('argon2', 'm × t', MOST.ARGON2_WORK)
  if (lanes > MOST.ARGON2_LANES) throw tooCostly('argon2', 'p', MOST.ARGON2_LANES)
  return (password) => verifyArgon2(hash, password)
}

/** As in other bcrypt implementations, only the first 72 bytes of the password are used. */
function bcrypt(hash: string, cost: number): HashCheck {
  if (cost > MOST.BCRYPT_COST) throw tooCostly('bcrypt', 'cost', MOST.BCRYPT_COST)
  return (password) => verifyBcrypt(password, hash)
}

type BytesCheck = (password: string | Buffer) => Promise<boolean>

function pbkdf2Of(digest: string | undefined, iterations: number, salt: Buffer, key: Buffer): BytesCheck {
  needKey(key)
  const work = iterations * Math.ceil(key.length / SIZES[digest as Digest])
  if (work > MOST.PBKDF2_WORK) throw tooCostly('PBKDF2', 'iterations × blocks', MOST.PBKDF2_WORK)
  return async (password) => timingSafeEqual(await derive(password, salt, iterations, key.length, `${digest}`), key)
}

function scryptOf(N: number, r: number, p: number, salt: Buffer, key: Buffer): BytesCheck {
  needKey(key)
  if (N < 2 || r < 1 || p < 1 || !Number.isInteger(Math.log2(N))) throw unreadable()
  if (N * r > MOST.SCRYPT_MEMORY) throw tooCostly('scrypt', 'N × r', MOST.SCRYPT_MEMORY)
  if (N * r * p > MOST.SCRYPT_WORK) throw tooCostly('scrypt', 'N × r × p', MOST.SCRYPT_WORK)
  // OpenSSL needs 128 * r * (N + p) bytes, plus a small overhead.
  const options = { N, r, p, maxmem: 128 * r * (N + p + 2) + 1024 }
  return async (password) => timingSafeEqual(await scryptKey(password, salt, key.length, options), key)
}

/** @param bytes the salt and the key, concatenated */
function saltedHex(digest: Digest, iterations: number, saltSize: number, bytes: Buffer): HashCheck {
  return pbkdf2Of(digest, iterations, bytes.subarray(0, saltSize), bytes.subarray(saltSize))
}

function aspNet(bytes: Buffer): HashCheck | null {
  if (bytes[0] === 0 && bytes.length === 49) return pbkdf2Of('sha1', 1000, bytes.subarray(1, 17), bytes.subarray(17))
  if (bytes[0] !== 1 || bytes.length < 13) return null
  const digest = (['sha1', 'sha256', 'sha512'] as const)[bytes.readUInt32BE(1)]
  const iterations = bytes.readUInt32BE(5)
  const saltEnd = 13 + bytes.readUInt32BE(9)
  if (digest === undefined || iterations === 0 || saltEnd > bytes.length) return null
  return pbkdf2Of(digest, iterations, bytes.subarray(13, saltEnd), bytes.subarray(saltEnd))
}

const derive = promisify(pbkdf2)
const scryptKey = promisify<string | Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt)

function needKey(key: Buffer): void {
  if (key.length < SHORTEST_KEY || key.length > LONGEST_KEY) throw unreadable()
}

function fromBase64(text = ''): Buffer {
  return Buffer.from(text, 'base64')
}

function fromHex(text = ''): Buffer {
  return Buffer.from(text, 'hex')
}

/** The message must not quote the hash. */
function tooCostly(algorithm: string, parameter: string, most: number): ScriptError {
  return new ScriptError(
    `security.checkPasswordHash: this ${algorithm} hash is too expensive to check: ${parameter} must be at most ${most}`,
  )
}

function unreadable(): ScriptError {
  return new ScriptError('security.checkPasswordHash: this hash is damaged: its parameters or its length are invalid')
}
