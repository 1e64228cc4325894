/** The guide for each admin page: a file in `docs/`, and a heading in that file. */
export const ADMIN_GUIDES = {
  audit: 'operating#the-audit-log',
  error: 'operating#when-something-is-wrong',
  health: 'operating#check-its-health',
  'login-page': 'login-template',
  maintenance: 'operating#maintenance',
  oauth: 'oauth#the-operators-settings',
  sessions: 'operating#sessions',
  settings: 'reference/settings',
  'sign-in': 'operating#the-admin-pages',
  solution: 'operating#the-admin-pages',
  'solution-access': 'operating#grant-access-to-databases-and-hosts',
  'solution-diff': 'uploading',
  'solution-log': 'operating#when-something-is-wrong',
  'solution-versions': 'uploading',
  solutions: 'uploading',
  'token-new': 'operating#access-to-the-api',
  tokens: 'operating#access-to-the-api',
  user: 'operating#users',
  'user-new': 'operating#users',
  users: 'operating#users',
  'users-import': 'operating#users',
} as const

export type AdminTemplate = keyof typeof ADMIN_GUIDES
