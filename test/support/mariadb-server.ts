import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PASSWORD, startServer, type TestServer } from './database-server.ts'

/** Debian's MariaDB, or undefined where it is not installed: tests that need it are skipped there. */
export const mariadbPath = ['/usr/sbin/mariadbd'].find((path) => existsSync(path))

/**
 * A MariaDB whose account `root` signs in by password. The caller stops it.
 * @param tls it has a certificate, signed by itself
 */
export function startMariadb({ tls = false } = {}): Promise<TestServer> {
  const program = mariadbPath
  if (program === undefined) throw new TypeError('there is no MariaDB to start: skip the test')
  const text = `'${PASSWORD.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  return startServer({
    username: 'root',
    account: 'mysql',
    prepare({ path, run }) {
      run('mariadb-install-db', ['--no-defaults', `--datadir=${path}/data`, '--skip-test-db'])
      const account = "'root'@'127.0.0.1'"
      const statements = [
        `CREATE USER IF NOT EXISTS ${account};`,
        `ALTER USER ${account} IDENTIFIED BY ${text};`,
        `GRANT ALL PRIVILEGES ON *.* TO ${account} WITH GRANT OPTION;`,
      ]
      const files = ['-keyout', `${path}/key.pem`, '-out', `${path}/certificate.pem`]
      if (tls) run('openssl', ['req', '-x509', '-noenc', ...files, '-subj', '/CN=127.0.0.1', '-newkey', 'rsa:2048'])
      writeFileSync(join(path, 'accounts.sql'), `${statements.join('\n')}\n`, { mode: 0o644 })
    },
    command: (path, port) => [
      program,
      '--no-defaults',
      `--datadir=${path}/data`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${path}/socket`,
      `--pid-file=${path}/pid`,
      `--init-file=${path}/accounts.sql`,
      '--skip-name-resolve',
      ...(tls ? [`--ssl-cert=${path}/certificate.pem`, `--ssl-key=${path}/key.pem`] : []),
      '--innodb-flush-log-at-trx-commit=2',
    ],
    ready: /ready for connections/,
  })
}
