import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCertificate } from '../../../base/tls/certificate.ts'
import { PlatformError } from '../../../runtime/errors.ts'
import { CERTIFICATE_PASS, type CertificateFolder, certificateFolder } from '../../support/certificates.ts'
import { hasCommand } from '../../support/commands.ts'

let folder: CertificateFolder
beforeAll(async () => {
  folder = await certificateFolder()
  await folder.issue('site')
  await folder.issue('other')
})
afterAll(() => folder[Symbol.dispose]())

const read = (name: string, passphrase = CERTIFICATE_PASS) =>
  readCertificate({ file: join(folder.path, name), passphrase, passphraseFile: null })

/** @returns the error message for a rejected file, without the prefix that all messages share */
function refusal(name: string, passphrase = CERTIFICATE_PASS): string {
  try {
    read(name, passphrase)
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    expect(error.code).toBe('ERR_CERTIFICATE')
    expect(error.message).not.toContain(passphrase === '' ? '\0' : passphrase)
    expect(error.message).not.toContain('\n')
    const beginning = `CERTIFICATE_NAME is set to "${name}", which `
    expect(error.message.slice(0, beginning.length)).toBe(beginning)
    return error.message.slice(beginning.length)
  }
  throw new Error(`${name} was taken`)
}

/** @returns the command at the end of a message */
const commandOf = (sentence: string) => sentence.slice(sentence.search(/: (openssl|keytool) /) + 2)

/** Runs the command in the error message, which must create a file that can be used for TLS. */
async function convert(name: string): Promise<string> {
  await folder.shell(commandOf(refusal(name)))
  const converted = `${name.replace(/\.[^.]*$/, '')}-new.p12`
  const { subject } = read(converted).x509
  await folder.shell(`rm ${converted}`)
  return subject
}

test('certificate: a PKCS12 file from openssl is read, and the certificate is separated from that of its authority', async () => {
  await folder.openssl('pkcs12 -export -in site.pem -inkey site-key.pem -certfile ca.pem -out chain.p12 -passout $')
  const { x509, passphrase, pfx } = read('chain.p12')
  expect([x509.subject, passphrase, pfx.equals(folder.bytes('chain.p12'))]).toEqual(['CN=site', CERTIFICATE_PASS, true])
  expect(x509.subjectAltName).toBe(
    'DNS:localhost, DNS:apps.example.test, DNS:*.apps.example.test, IP Address:127.0.0.1',
  )
})

test('certificate: files from common tools are accepted: 3DES from Windows, without a MAC, without a password', async () => {
  const make = 'pkcs12 -export -in site.pem -inkey site-key.pem -out'
  await folder.openssl(`${make} windows.pfx -keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1 -passout $`)
  await folder.openssl(`${make} no-mac.p12 -nomac -passout $`)
  await folder.openssl(`${make} open.p12 -passout pass:`)
  expect(['windows.pfx', 'no-mac.p12'].map((name) => read(name).x509.subject)).toEqual(['CN=site', 'CN=site'])
  expect(read('open.p12', '').x509.subject).toBe('CN=site')
})

test('certificate: a file with legacy encryption is rejected, and the error contains a command that converts it', async () => {
  await folder.openssl('pkcs12 -export -legacy -in site.pem -inkey site-key.pem -out old.p12 -passout $')
  expect(refusal('old.p12')).toBe(
    'uses legacy encryption (40-bit RC2) that OpenSSL 3 rejects. Java before 8u301, mkcert and "openssl -legacy" create such files. ' +
      'Convert it: ' +
      'openssl pkcs12 -legacy -in old.p12 -out old.p12.pem -passin env:CERTIFICATE_PASS -passout env:CERTIFICATE_PASS && ' +
      'openssl pkcs12 -export -in old.p12.pem -out old-new.p12 -passin env:CERTIFICATE_PASS -passout env:CERTIFICATE_PASS && ' +
      'rm old.p12.pem',
  )
  expect(await convert('old.p12')).toBe('CN=site')
})

test('certificate: PEM files from local authorities are rejected, and the error contains the right conversion command', async () => {
  await folder.shell('cat site.pem site-key.pem > both.pem; cp site-key.pem key.pem; cp site.pem certificate.pem')
  const tools = '(as created by mkcert or certbot), not PKCS12.'
  expect(['both.pem', 'site.pem', 'site-key.pem'].map((name) => refusal(name))).toEqual([
    `is a PEM file with a certificate and its key ${tools} Convert it: openssl pkcs12 -export -in both.pem -out both-new.p12 -passout env:CERTIFICATE_PASS`,
    `is a PEM certificate without its private key ${tools} Combine the certificate and its key in one file: openssl pkcs12 -export -in site.pem -inkey key.pem -out site-new.p12 -passout env:CERTIFICATE_PASS`,
    'is a PEM private key without its certificate, not PKCS12. Combine the certificate and its key in one file: openssl pkcs12 -export -in certificate.pem -inkey site-key.pem -out site-key-new.p12 -passout env:CERTIFICATE_PASS',
  ])
  expect([await convert('both.pem'), await convert('site.pem'), await convert('site-key.pem')]).toEqual(
    Array(3).fill('CN=site'),
  )
})

test('certificate: DER and PKCS7 files are rejected, and the error contains the right conversion command', async () => {
  await folder.openssl('x509 -in site.pem -outform der -out site.cer')
  await folder.openssl('pkcs8 -topk8 -nocrypt -in site-key.pem -outform der -out site.key')
  await folder.openssl('crl2pkcs7 -nocrl -certfile site.pem -outform der -out site.p7b')
  await folder.shell('cp site.pem certificate.pem; cp site-key.pem key.pem')
  expect(refusal('site.cer')).toBe(
    'is a DER certificate without its private key, not PKCS12. Combine the certificate and its key in one file: openssl x509 -inform der -in site.cer | ' +
      'openssl pkcs12 -export -inkey key.pem -out site-new.p12 -passout env:CERTIFICATE_PASS',
  )
  expect(refusal('site.key')).toContain(
    'is a DER private key without its certificate, not PKCS12. Convert the key to PEM',
  )
  expect(refusal('site.p7b')).toContain(
    'is PKCS7 (certificates without a private key), not PKCS12. Combine the certificate and its key',
  )
  const subjects = [await convert('site.cer'), await convert('site.key'), await convert('site.p7b')]
  expect(subjects).toEqual(Array(3).fill('CN=site'))
})

test('certificate: Java key stores are rejected, and the error contains a keytool command', async () => {
  folder.write('store.jks', Buffer.from('feedfeed00000002', 'hex'))
  folder.write('store.jceks', Buffer.from('cececece00000002', 'hex'))
  const command = (type: string, name: string) =>
    `is a Java key store (${type}), not PKCS12. Convert it: keytool -importkeystore -srckeystore ${name} -srcstoretype ${type} ` +
    '-srcstorepass:env CERTIFICATE_PASS -destkeystore store-new.p12 -deststoretype PKCS12 -deststorepass:env CERTIFICATE_PASS'
  expect(refusal('store.jks')).toBe(command('JKS', 'store.jks'))
  expect(refusal('store.jceks')).toBe(command('JCEKS', 'store.jceks'))
  if (!hasCommand('keytool')) return
  for (const [type, name] of Object.entries({ JKS: 'java.jks', JCEKS: 'java.jceks' })) {
    const words = ['-genkeypair', '-storetype', type, '-keystore', name, '-alias', 'a', '-keyalg', 'EC']
    const rest = ['-groupname', 'secp256r1', '-storepass', CERTIFICATE_PASS, '-keypass', CERTIFICATE_PASS]
    execFileSync('keytool', [...words, ...rest, '-dname', 'CN=java'], { cwd: folder.path, stdio: 'ignore' })
    expect(await convert(name)).toBe('CN=java')
  }
})

test('certificate: a file without a key and one without the matching certificate get different messages', async () => {
  await folder.openssl('pkcs12 -export -nokeys -in site.pem -out no-key.p12 -passout $')
  await folder.openssl('pkcs12 -export -nocerts -inkey site-key.pem -out no-certificate.p12 -passout $')
  await folder.openssl('pkcs12 -export -nocerts -inkey site-key.pem -certfile other.pem -out foreign.p12 -passout $')
  await folder.shell('cp site.pem certificate.pem; cp site-key.pem key.pem')
  expect(refusal('no-key.p12')).toBe(
    'contains a certificate without its private key, like a trust store. Create a file with both: ' +
      'openssl pkcs12 -export -in certificate.pem -inkey key.pem -out no-key-new.p12 -passout env:CERTIFICATE_PASS',
  )
  const noneOfItsKey = (name: string) =>
    'contains a private key without its certificate. Create a file with both: ' +
    `openssl pkcs12 -export -in certificate.pem -inkey key.pem -out ${name}-new.p12 -passout env:CERTIFICATE_PASS`
  expect(refusal('no-certificate.p12')).toBe(noneOfItsKey('no-certificate'))
  expect(refusal('foreign.p12')).toBe(noneOfItsKey('foreign'))
  expect(await convert('foreign.p12')).toBe('CN=site')
})

test('certificate: a wrong password, with and without a MAC, and a missing password are reported', async () => {
  await folder.openssl('pkcs12 -export -nomac -in site.pem -inkey site-key.pem -out no-mac.p12 -passout $')
  const wrong = (name: string) =>
    'cannot be opened with CERTIFICATE_PASS: the password is wrong, or the file is damaged. ' +
    `Test the password: openssl pkcs12 -in ${name} -noout -passin env:CERTIFICATE_PASS`
  expect(refusal('site.p12', 'no such words')).toBe(wrong('site.p12'))
  // With about one wrong password in 80, decryption succeeds, but the result is invalid ASN.1.
  const others = Array.from({ length: 400 }, (_, number) => refusal('no-mac.p12', `no such words ${number}`))
  expect(new Set(others)).toEqual(new Set([wrong('no-mac.p12')]))
  expect(refusal('site.p12', '')).toBe('has a password, but CERTIFICATE_PASS is empty. Set CERTIFICATE_PASS.')
})

test('certificate: keys that are too weak for TLS are rejected', async () => {
  await folder.issue('weak', { key: 'rsa:1024' })
  expect(refusal('weak.p12')).toBe(
    'contains a certificate that is too weak for TLS (ee key too small): RSA keys need at least 2048 bits, and signatures need SHA-256 or stronger. Get a new certificate.',
  )
})

test('certificate: a missing, empty, oversized, truncated or unrelated file is rejected', () => {
  folder.write('empty.p12', '')
  folder.write('large.p12', Buffer.alloc(1024 ** 2 + 1))
  folder.write('cut.p12', folder.bytes('site.p12').subarray(0, 300))
  folder.write('text.p12', 'not at all')
  mkdirSync(join(folder.path, 'folder.p12'))
  execFileSync('mkfifo', [join(folder.path, 'pipe.p12')])
  const names = ['absent.p12', 'empty.p12', 'large.p12', 'cut.p12', 'text.p12', 'folder.p12', 'pipe.p12']
  expect(names.map((name) => refusal(name))).toEqual([
    `does not exist: ${join(folder.path, 'absent.p12')}. Put the file into the folder CERTIFICATE_FOLDER. In a container, mount that folder.`,
    'is empty. Copy the PKCS12 file there again.',
    'is 1048577 bytes long. The maximum is 1048576. Set CERTIFICATE_NAME to the PKCS12 file with the certificate.',
    'is a truncated or damaged PKCS12 file. Copy it again, in binary mode.',
    'is not a PKCS12 file, or is damaged. Replace it with a PKCS12 file (.p12 or .pfx) that contains the certificate and its private key.',
    'is not a regular file. Set CERTIFICATE_NAME to the name of a PKCS12 file in CERTIFICATE_FOLDER.',
    'is not a regular file. Set CERTIFICATE_NAME to the name of a PKCS12 file in CERTIFICATE_FOLDER.',
  ])
})

test('certificate: a file name with special characters is quoted in the command', async () => {
  await folder.shell("cat site.pem site-key.pem > '-it is; $(id).pem'")
  expect(refusal('-it is; $(id).pem')).toContain(
    "openssl pkcs12 -export -in './-it is; $(id).pem' -out './-it is; $(id)-new.p12' -passout env:CERTIFICATE_PASS",
  )
  await folder.shell(commandOf(refusal('-it is; $(id).pem')))
  expect(read('-it is; $(id)-new.p12').x509.subject).toBe('CN=site')
})

test('certificate: any truncated file is rejected with a single sentence', () => {
  const whole = folder.bytes('site.p12')
  for (let cut = 1; cut < whole.length; cut += 41) {
    folder.write('part.p12', whole.subarray(0, cut))
    expect(refusal('part.p12')).toMatch(/\.$/)
  }
})

test('certificate: a pipe as the password file is rejected immediately', async () => {
  await folder.shell('mkfifo pass-pipe')
  const [file, passphraseFile] = [join(folder.path, 'site.p12'), join(folder.path, 'pass-pipe')]
  expect(() => readCertificate({ file, passphrase: '', passphraseFile })).toThrow(
    'CERTIFICATE_PASS_FILE names a file that is a folder, a pipe or a device. Write the secret into a regular file.',
  )
})
