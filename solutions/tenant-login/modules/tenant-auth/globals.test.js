// Run these tests with "solhost test solutions/tenant-login".
const ANNA = { username: 'anna', password: 'anna-tries-acme', custom_tenant: 'acme' }
const DAY = 24 * 60 * 60 * 1000

test('anna from acme is signed in with her tenant and its language', async () => {
  const { login, tenant, locale, result } = await solution.signIn(ANNA)
  assert.equal(login, { username: 'anna', uid: 'a-1', permissions: ['Users', 'Administrators'] })
  assert.equal(tenant, ['acme', -1])
  assert.equal(locale, 'en-US')
  assert.equal(result, null)
})

test('a wrong password, tenant or user is rejected with the same text', async () => {
  for (const wrong of [{ password: 'x' }, { custom_tenant: 'nobody' }, { username: 'constructor' }]) {
    const { login, result, commands } = await solution.signIn({ ...ANNA, ...wrong })
    assert.equal(login, null)
    assert.equal(result, { errorMessage: 'i18n:tenant.error.wrong' })
    assert.equal(commands, [])
  }
})

test('a remembered login is valid for seven days and only for the same user', async () => {
  const ask = (last_login) => solution.signIn({ username: 'anna', custom_tenant: 'acme', last_login })
  assert.equal((await ask({ last_login: Date.now() - 6 * DAY, uid: 'a-1' })).login.uid, 'a-1')
  assert.equal((await ask({ last_login: Date.now() - 8 * DAY, uid: 'a-1' })).login, null)
  assert.equal((await ask({ last_login: Date.now(), uid: 'a-2' })).login, null)
})
