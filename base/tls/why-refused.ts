import { createPrivateKey, X509Certificate } from 'node:crypto'

/**
 * Explains what kind of file an unusable certificate file is, and which command converts it. The text continues a
 * sentence that begins with the file's name. It never contains the password; the commands read that from the
 * environment.
 *
 * @param error Node's error when it tried to use the file
 */
export function whyRefused(name: string, bytes: Buffer, passphrase: string, error: Error): string {
  const file = quoted(name)
  const kind = kindOf(bytes)
  if (kind !== 'pkcs12') return KINDS[kind](file)
  const { message } = error
  const isUnreadable = /not enough data|too long|asn1|header|wrong tag/i.test(message)
  // Without a MAC, about one wrong password in 80 is not detected when the file is decrypted. Only parsing the result
  // as ASN.1 then fails.
  if (/mac verify failure|bad decrypt|empty password/i.test(message) || (isUnreadable && isWhole(bytes))) {
    return passphrase === ''
      ? 'has a password, but CERTIFICATE_PASS is empty. Set CERTIFICATE_PASS.'
      : `cannot be opened with CERTIFICATE_PASS: the password is wrong, or the file is damaged. Test the password: openssl pkcs12 -in ${file} -noout -passin env:CERTIFICATE_PASS`
  }
  if (/unsupported/i.test(message)) {
    // Uses a temporary file, since openssl can't read the key and the certificate from one pipe. The key stays
    // encrypted in that file.
    const pem = quoted(`${name}.pem`)
    return (
      'uses legacy encryption (40-bit RC2) that OpenSSL 3 rejects. Java before 8u301, mkcert and "openssl -legacy" create such files. ' +
      `Convert it: openssl pkcs12 -legacy -in ${file} -out ${pem} ${PASSWORDS} && ` +
      `openssl pkcs12 -export -in ${pem} -out ${converted(name)} ${PASSWORDS} && rm ${pem}`
    )
  }
  if (/private key/i.test(message)) {
    return (
      'contains a certificate without its private key, like a trust store. ' +
      `Create a file with both: openssl pkcs12 -export -in certificate.pem -inkey key.pem -out ${converted(name)} -passout env:CERTIFICATE_PASS`
    )
  }
  if (/load certificate/i.test(message)) {
    return (
      'contains a private key without its certificate. ' +
      `Create a file with both: openssl pkcs12 -export -in certificate.pem -inkey key.pem -out ${converted(name)} -passout env:CERTIFICATE_PASS`
    )
  }
  if (/too small|too weak/i.test(message)) {
    return `contains a certificate that is too weak for TLS (${message}): RSA keys need at least 2048 bits, and signatures need SHA-256 or stronger. Get a new certificate.`
  }
  if (isUnreadable) {
    return 'is a truncated or damaged PKCS12 file. Copy it again, in binary mode.'
  }
  return `cannot be used for TLS: ${message}`
}

const PASSWORDS = '-passin env:CERTIFICATE_PASS -passout env:CERTIFICATE_PASS'

type Kind = 'pkcs12' | 'jks' | 'jceks' | 'pem' | 'pem-key' | 'pem-certificate' | 'der' | 'der-key' | 'pkcs7' | 'other'

const KINDS: Readonly<Record<Exclude<Kind, 'pkcs12'>, (file: string) => string>> = {
  jks: (file) => javaStore(file, 'JKS'),
  jceks: (file) => javaStore(file, 'JCEKS'),
  pem: (file) =>
    `is a PEM file with a certificate and its key (as created by mkcert or certbot), not PKCS12. Convert it: ${joined(`-in ${file}`, file)}`,
  'pem-certificate': (file) =>
    `is a PEM certificate without its private key (as created by mkcert or certbot), not PKCS12. Combine the certificate and its key in one file: ${joined(`-in ${file} -inkey key.pem`, file)}`,
  'pem-key': (file) =>
    `is a PEM private key without its certificate, not PKCS12. Combine the certificate and its key in one file: ${joined(`-in certificate.pem -inkey ${file}`, file)}`,
  der: (file) =>
    `is a DER certificate without its private key, not PKCS12. Combine the certificate and its key in one file: openssl x509 -inform der -in ${file} | ${joined('-inkey key.pem', file)}`,
  'der-key': (file) =>
    `is a DER private key without its certificate, not PKCS12. Convert the key to PEM, and combine it with the certificate in one file: openssl pkey -inform der -in ${file} -out key.pem && ${joined('-in certificate.pem -inkey key.pem', file)}`,
  pkcs7: (file) =>
    `is PKCS7 (certificates without a private key), not PKCS12. Combine the certificate and its key in one file: openssl pkcs7 -inform der -in ${file} -print_certs | ${joined('-inkey key.pem', file)}`,
  other: () =>
    'is not a PKCS12 file, or is damaged. Replace it with a PKCS12 file (.p12 or .pfx) that contains the certificate and its private key.',
}

function javaStore(file: string, type: 'JKS' | 'JCEKS'): string {
  return (
    `is a Java key store (${type}), not PKCS12. Convert it: keytool -importkeystore -srckeystore ${file} -srcstoretype ${type} ` +
    `-srcstorepass:env CERTIFICATE_PASS -destkeystore ${converted(bare(file))} -deststoretype PKCS12 -deststorepass:env CERTIFICATE_PASS`
  )
}

function joined(input: string, file: string): string {
  return `openssl pkcs12 -export ${input} -out ${converted(bare(file))} -passout env:CERTIFICATE_PASS`
}

/** PKCS12 (RFC 7292): a SEQUENCE that starts with the version, INTEGER 3. */
const PKCS12 = /^30(?:8[0-4](?:..){0,4}?|[0-7].)020103/
/** OID 1.2.840.113549.1.7.2, signed data. */
const SIGNED_DATA = Buffer.from('06092a864886f70d010702', 'hex')

function kindOf(bytes: Buffer): Kind {
  const start = bytes.toString('hex', 0, 24)
  if (start.startsWith('feedfeed')) return 'jks'
  if (start.startsWith('cececece')) return 'jceks'
  if (PKCS12.test(start)) return 'pkcs12'
  const text = bytes.toString('latin1')
  const hasKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)
  const hasCertificate = /-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(text)
  if (hasKey || hasCertificate) return !hasKey ? 'pem-certificate' : hasCertificate ? 'pem' : 'pem-key'
  if (bytes.subarray(0, 24).includes(SIGNED_DATA)) return 'pkcs7'
  if (isReadBy(() => new X509Certificate(bytes))) return 'der'
  for (const type of ['pkcs8', 'pkcs1', 'sec1'] as const) {
    if (isReadBy(() => createPrivateKey({ key: bytes, format: 'der', type }))) return 'der-key'
  }
  return 'other'
}

/** Whether the file has the length that its outer SEQUENCE states (ITU-T X.690, section 8.1.3). */
function isWhole(bytes: Buffer): boolean {
  const first = bytes[1] ?? 0
  const size = first < 0x80 ? 0 : first - 0x80
  if (size > 4 || bytes.length < 2 + size) return false
  return bytes.length === 2 + size + (size === 0 ? first : bytes.readUIntBE(2, size))
}

function isReadBy(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** Returns a file name, quoted for a shell if needed. */
function quoted(name: string): string {
  return /^[\w.+@-]+$/.test(name) && !name.startsWith('-') ? name : `'./${name.replaceAll("'", `'\\''`)}'`
}

function bare(file: string): string {
  return file.replace(/^'\.\/(.*)'$/s, '$1').replaceAll(`'\\''`, "'")
}

/**
 * Returns the name of a new file next to the old one. If a command overwrote the old file and failed, only an empty
 * file would be left.
 */
function converted(name: string): string {
  return quoted(`${name.replace(/\.[^.]*$/, '')}-new.p12`)
}
