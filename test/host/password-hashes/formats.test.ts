import { expect, test } from 'vitest'
import { hashPassword } from '../../../base/accounts/passwords.ts'
import { MOST, readHash } from '../../../host/password-hashes/formats.ts'

// These hashes were created by other programs: CPython's hashlib and Werkzeug 3, libxcrypt (bcrypt), Node's crypto
// (argon2).

const PASSWORD = 'Grüße, horse'
const SALT = 'AQIDBAUGBwgJCgsMDQ4PEA'
const BCRYPT = 'abcdefghijklmnopqrstuuhMz1qlbUL/Ybe9Xu8meoaOQHlMG6OHq'
const ARGON2ID = `$argon2id$v=19$m=1024,t=2,p=2$${SALT}$8DFZK/rJyKwxlHfGeT74yuyT+3Pnb+LpFOMQKF9Nd40`
const SCRYPT = `$e0801$${SALT}==$h/xvPoAkRg2PaaYny07n+Db7ZO4XMvNKziHBG4ruI6Q=`
const PBKDF2_SHA256 = 'TRagc7OmyIybIvHVd5Z/HAnhWXHs6PTRO+aWsxOnOGU'
const ORIGINAL = '0123456789ABCDEF:9999:C06CE9F7E4E249CF676B8490B6D5DBEF9E6868DA'

test.each([
  ['argon2id', ARGON2ID],
  ['argon2i', `$argon2i$v=19$m=1024,t=2,p=2$${SALT}$h65HpZUNdjlnIiNpc7B5aybO1EOtlNVm72/T7keQdzs`],
  ['argon2d', `$argon2d$v=19$m=1024,t=2,p=2$${SALT}$X5Att3CfGhD1MMqJTbBqRUd470oP+1BgFB4vrrBu7rY`],
  ['bcrypt 2a', `$2a$05$${BCRYPT}`],
  ['bcrypt 2b', `$2b$05$${BCRYPT}`],
  ['bcrypt 2y, as PHP writes it', `$2y$05$${BCRYPT}`],
  ['scrypt, PHC', `$scrypt$ln=10,r=8,p=1$${SALT}$LzCKcQ7imYtaixdfs2ldAB4nNwNAlgz2XhIv5y3P+1o`],
  ['PBKDF2, PHC', `$pbkdf2-sha256$i=1000,l=32$${SALT}$${PBKDF2_SHA256}`],
  ['PBKDF2-SHA-1, passlib', `$pbkdf2$1000$${SALT}$6v6/5gyyeKqYNLdCmFJwSNKe.ZA`],
  ['PBKDF2-SHA-256, passlib', `$pbkdf2-sha256$1000$${SALT}$${PBKDF2_SHA256.replaceAll('+', '.')}`],
  [
    'PBKDF2-SHA-512, passlib',
    `$pbkdf2-sha512$1000$${SALT}$vvuGwRQxfadbUEpLHtF1.xN/NVmyEYju9t07gwXKfOQNLWA7XJoJ0VZ9E.ATRdP/FoVvrMJWau3oqdTWfXN3Yg`,
  ],
  ['PBKDF2-SHA-256, Django', 'pbkdf2_sha256$1000$seasalt$N8Kb7U1vbYSRuCHg1pngtjswnNK9K1+IDAsQ4NEmMNE='],
  ['PBKDF2-SHA-1, Django', 'pbkdf2_sha1$1000$seasalt$i6jlB81/vPNGLxPmWbWa4v3E27U='],
  [
    'scrypt, Django',
    'scrypt$1024$seasalt$8$5$SqM+XOm2MaFV0mSrPxXVb3HAkzp84ANyzQfp86U3+6CtgBCOE5lTsZSD5EMvdZRwiOvmcVjkPpC+8cU29Wfu+A==',
  ],
  ['argon2, Django', `argon2${ARGON2ID}`],
  ['bcrypt, Django', `bcrypt$$2b$05$${BCRYPT}`],
  ['bcrypt over SHA-256, Django', 'bcrypt_sha256$$2b$05$abcdefghijklmnopqrstuupQd5t8FGGGBY0gLuNCIQ5gVUM2DJcJG'],
  [
    'scrypt, Werkzeug',
    'scrypt:1024:8:1$GmpHgmG8DjPXLo1A$24c235161326bf851b3e405c644884468f3fd6f4bded407856894b275453e146b06bbf463e82771b533c3efa31f584c3f5cf4a20ef8cc28c78fc2e1e2fcd35c2',
  ],
  [
    'scrypt, Werkzeug’s default parameters',
    'scrypt:32768:8:1$J1k0bBqgpSuHWyRN$f1d7e4c681942103e5cb22a35a377e99f07461c971c952a68a4a07b7831d3b03765c79b323e172f12a07c0d3d9a82d2d9792878dac08ba97986a2537c685be28',
  ],
  [
    'PBKDF2-SHA-256, Werkzeug',
    'pbkdf2:sha256:1000$EzQf44npsyKUCFpT$6996d3535bba3509123f76470c4a874d4cab417fe262183a037446c8db71367d',
  ],
  ['PBKDF2-SHA-1, Werkzeug', 'pbkdf2:sha1:1000$SiI8ml4nrcLiRMWP$364a5ac726420bb41ba85476201aa9775ebe76be'],
  ['bcrypt, Spring', `{bcrypt}$2a$05$${BCRYPT}`],
  ['argon2, Spring', `{argon2@SpringSecurity_v5_8}${ARGON2ID}`],
  ['scrypt, Spring', `{scrypt}${SCRYPT}`],
  ['scrypt, Spring without its prefix', SCRYPT],
  ['scrypt, lambdaworks', `$s0${SCRYPT}`],
  [
    'PBKDF2, Spring before 5.8',
    '{pbkdf2}0102030405060708da00add83526bce712ced9cc1d9aef64f56475edbe2e544524b2b1f5dd8234e8',
  ],
  [
    'PBKDF2, Spring',
    '{pbkdf2@SpringSecurity_v5_8}0102030405060708090a0b0c0d0e0f10744f1ec54b941b2969879f3e18f9adf6a740656317adaa994db2baff5f0ea621',
  ],
  ['ASP.NET Core Identity 3', 'AQAAAAIAAAPoAAAAEAECAwQFBgcICQoLDA0ODxC++4bBFDF9p1tQSkse0XX7E381WbIRiO723TuDBcp85A=='],
  ['ASP.NET Core Identity 2', 'AAECAwQFBgcICQoLDA0ODxDq/r/mDLJ4qpg0t0KYUnBI0p75kJAgLyGYpBWR7X5cwg=='],
  ['the original product’s users', `PBKDF2:${ORIGINAL}`],
  ['the original product’s utils.stringPBKDF2Hash', ORIGINAL],
])('stored hashes: a hash in the format %s can be checked', async (_form, hash) => {
  const check = readHash(hash)
  expect(await check(PASSWORD)).toBe(true)
  expect(await check('Grüße, house')).toBe(false)
  expect(await check('')).toBe(false)
})

test('stored hashes: a password in a different Unicode normalization form is the same password', async () => {
  expect(await readHash(await hashPassword('caf\u00e9'))('cafe\u0301')).toBe(true)
  expect(await readHash(`$2b$05$${BCRYPT}`)(PASSWORD.normalize('NFD'))).toBe(true)
})

test('stored hashes: hashes from the original product are checked with the password as ISO-8859-1', async () => {
  const check = readHash('PBKDF2:0123456789ABCDEF:9999:F989A4C0F16342691AAC23C30253F8F128D57031')
  expect(await check('10 €')).toBe(true)
  expect(await check('10 $')).toBe(false)
})

test('stored hashes: bcrypt uses the first 72 bytes of a password', async () => {
  const check = readHash('$2b$05$abcdefghijklmnopqrstuujf8SX2ahXLwp9w/B.Y5XdysS6yR576q')
  expect(await check('x'.repeat(80))).toBe(true)
  expect(await check('x'.repeat(71))).toBe(false)
})

const argon2Of = (parameters: string) => ARGON2ID.replace('m=1024,t=2,p=2', parameters)
const aspNetOf = (iterations: number) => {
  const bytes = Buffer.from(
    'AQAAAAIAAAPoAAAAEAECAwQFBgcICQoLDA0ODxC++4bBFDF9p1tQSkse0XX7E381WbIRiO723TuDBcp85A==',
    'base64',
  )
  bytes.writeUInt32BE(iterations, 5)
  return bytes.toString('base64')
}

test.each([
  ['argon2 with 4 GiB', argon2Of('m=4194304,t=1,p=1'), 'm must be at most 131072'],
  ['argon2 with a million passes', argon2Of('m=1024,t=1000000,p=1'), 'm × t must be at most 524288'],
  ['argon2 with 1,000 lanes', argon2Of('m=8192,t=1,p=1000'), 'p must be at most 16'],
  ['Spring’s argon2 with 4 GiB', `{argon2}${argon2Of('m=4194304,t=1,p=1')}`, 'm must be at most'],
  ['bcrypt with a cost of 31', `$2b$31$${BCRYPT}`, 'cost must be at most 14'],
  ['Django’s bcrypt with a cost of 31', `bcrypt_sha256$$2b$31$${BCRYPT}`, 'cost must be at most 14'],
  ['scrypt with an N of 2^40', `$scrypt$ln=40,r=8,p=1$${SALT}$${PBKDF2_SHA256}`, 'N × r must be at most'],
  ['scrypt with a large r', `scrypt:2:999999999:1$salt$${'ab'.repeat(32)}`, 'N × r must be at most'],
  ['scrypt with a large p', `scrypt$16384$salt$8$1000000$${SALT}==`, 'N × r × p must be at most'],
  ['Spring’s scrypt with a large N', SCRYPT.replace('e0801', '1f0801'), 'N × r must be at most'],
  ['PBKDF2 with a billion iterations', `pbkdf2:sha256:1000000000$salt$${'ab'.repeat(32)}`, 'at most 3000000'],
  ['PBKDF2 with many blocks', `pbkdf2:sha1:1000000$salt$${'ab'.repeat(128)}`, 'iterations × blocks must be at most'],
  [
    'the original product’s PBKDF2 with many iterations',
    `PBKDF2:AB:2000000000:${'AB'.repeat(20)}`,
    'iterations × blocks must be at most',
  ],
  ['ASP.NET’s PBKDF2 with many iterations', aspNetOf(2 ** 32 - 1), 'iterations × blocks must be at most'],
])('stored hashes: %s is rejected before any work is done', (_case, hash, message) => {
  expect(() => readHash(hash)).toThrow(message)
})

test.each([
  ['an empty string', ''],
  ['a plain-text password', 'correct horse'],
  ['MD5', '5f4dcc3b5aa765d61d8327deb882cf99'],
  ['SHA-256', '47a313da8acc00b26bc4d7889571c77becfb3218cd8481ae6b7312cc312b7bda'],
  ['Spring’s {noop} with a plain-text password', '{noop}correct horse'],
  ['crypt’s SHA-512', '$6$saltsalt$abcdefghijklmnopqrstuvwxyz'],
  ['bcrypt 2x, which marks hashes from a faulty implementation', `$2x$05$${BCRYPT}`],
  ['bcrypt after a line break', `\n$2b$05$${BCRYPT}`],
  ['bcrypt before a line break', `$2b$05$${BCRYPT}\n`],
  ['a bcrypt hash with Spring’s {argon2} prefix', `{argon2}$2b$05$${BCRYPT}`],
])('stored hashes: %s is an unsupported format, and is not quoted', (_case, hash) => {
  expect(() => readHash(hash)).toThrow('the format of this hash is not supported')
  if (hash !== '') expect(() => readHash(hash)).not.toThrow(hash)
})

test.each([
  ['a key of one byte', 'pbkdf2:sha256:1000$salt$ab'],
  ['a key of 1 kB', `pbkdf2:sha256:1000$salt$${'ab'.repeat(1024)}`],
  ['scrypt with an N that is not a power of two', `scrypt:1000:8:1$salt$${'ab'.repeat(32)}`],
  ['scrypt with an N of 1', `$scrypt$ln=0,r=8,p=1$${SALT}$${PBKDF2_SHA256}`],
])('stored hashes: %s is reported as damaged', (_case, hash) => {
  expect(() => readHash(hash)).toThrow('this hash is damaged')
})

test('stored hashes: the current defaults of common frameworks are within the limits', () => {
  const key = 'ab'.repeat(32)
  for (const hash of [
    argon2Of('m=65536,t=3,p=4'),
    argon2Of('m=102400,t=2,p=8'),
    `$2y$12$${BCRYPT}`,
    `scrypt:131072:8:1$salt$${key}`,
    `pbkdf2:sha256:1000000$salt$${key}`,
    'pbkdf2_sha256$1500000$seasalt$N8Kb7U1vbYSRuCHg1pngtjswnNK9K1+IDAsQ4NEmMNE=',
  ]) {
    expect(readHash(hash)).toBeTypeOf('function')
  }
  expect(MOST.ARGON2_MEMORY * 1024).toBe(128 * 1024 ** 2)
})
