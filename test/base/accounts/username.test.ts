import { expect, test } from 'vitest'
import { usernameKey } from '../../../base/accounts/username.ts'

test.each([
  ['Anna', 'anna'],
  ['  anna ', 'anna'],
  ['ＡＮＮＡ', 'anna'],
  ['JOSE\u0301', 'josé'],
  ['\u00a0anna\u3000', 'anna'],
  ['ΑΝΝΑ', 'αννα'],
  ['ﬁnn', 'finn'],
  ['İpek', 'i\u0307pek'],
  ['TITLE', 'title'],
])('username: the key of "%s" is "%s", and a key is its own key', (name, key) => {
  expect([usernameKey(name), usernameKey(usernameKey(name))]).toEqual([key, key])
})
