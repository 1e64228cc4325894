// Stripe and GitHub wait only a few seconds for a response, and Stripe sends an event again if there is none. So the
// endpoints only queue the work, and jobs do it later. Each run has the id of the event or delivery as its key, so a
// webhook that arrives twice is processed once.

/** Called for each event that Stripe sends. The host has already checked Stripe's signature. */
function receiveStripe({ body }) {
  if (body.type === 'payment_intent.succeeded') {
    const { id, amount, currency } = body.data.object
    plugins.jobs.enqueue('processPayment', { event: body.id, payment: id, amount, currency }, { key: body.id })
  }
  return { received: true }
}

/**
 * Called for each delivery from GitHub. The host has already checked GitHub's signature. A delivery keeps its id when
 * someone redelivers it on GitHub.
 */
function receiveGithub({ body, headers }) {
  const delivery = headers['x-github-delivery']
  if (headers['x-github-event'] === 'push') {
    const commits = body.commits.map(({ id, message }) => ({ id, message: message.slice(0, 200) }))
    plugins.jobs.enqueue('processPush', { delivery, repository: body.repository.full_name, commits }, { key: delivery })
  }
  return { received: true }
}

async function processPayment({ data }) {
  const isNew = await remember(data.event, 'payment', `${data.amount} ${data.currency}`)
  return { payment: data.payment, isNew }
}

async function processPush({ data }) {
  const isNew = await remember(data.delivery, 'push', data.repository)
  return { commits: data.commits.length, isNew }
}

/**
 * Stores each event only once, because a job's run is repeated if the host stops before the run has finished.
 * @returns whether the event is new
 */
async function remember(id, kind, text) {
  await query('CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL)')
  const added = await query(
    'INSERT INTO events (id, kind, text) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id',
    [id, kind, text],
  )
  return added.length === 1
}

function query(sql, parameters = []) {
  return plugins.database.query('events', sql, parameters)
}

function onSolutionOpen() {
  return null
}
