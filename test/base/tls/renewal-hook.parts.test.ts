import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readCertificate } from '../../../base/tls/certificate.ts'
import { certificateFolder } from '../../support/certificates.ts'
import { readBlocks } from '../../support/guides/blocks.ts'

test('renewal: the certbot script of docs/tls.md creates a usable file and replaces the old one atomically', async () => {
  using folder = await certificateFolder()
  const script = readBlocks('docs/tls.md').find(({ code }) => code.includes('renewal-hooks'))?.code ?? ''
  await folder.issue('site')
  mkdirSync(join(folder.path, 'live'))
  mkdirSync(join(folder.path, 'out'))
  await folder.shell(
    'cat site.pem ca.pem > live/fullchain.pem; cp site-key.pem live/privkey.pem; printf secret > out/pass',
  )
  folder.write('hook', script)
  chmodSync(join(folder.path, 'hook'), 0o755)
  await folder.shell('RENEWED_LINEAGE=$PWD/live CERTIFICATE_FOLDER=$PWD/out ./hook')
  const file = join(folder.path, 'out', 'site.p12')
  expect(readCertificate({ file, passphrase: 'secret', passphraseFile: null }).x509.subject).toBe('CN=site')
  expect(existsSync(`${file}.new`)).toBe(false)
})
