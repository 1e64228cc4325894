export type Stored = Record<string, unknown> & { grantId?: string; uid?: string; accountId?: string; consumed?: number }

/**
 * The data that `oidc-provider` stores, by model and id. Each provider has its own store in memory. Tests can read and
 * change it.
 */
export type ProviderStore = {
  readonly all: (model: string) => ReadonlyMap<string, Stored>
  readonly put: (model: string, id: string, value: Stored) => void
  /** Returns the storage for a model, with the interface that `oidc-provider` requires (its option `adapter`). */
  readonly adapter: (model: string) => object
}

export function createProviderStore(): ProviderStore {
  const models = new Map<string, Map<string, Stored>>()

  function of(model: string): Map<string, Stored> {
    const found = models.get(model) ?? new Map<string, Stored>()
    models.set(model, found)
    return found
  }

  return {
    all: of,
    put: (model, id, value) => void of(model).set(id, value),
    adapter: (model) => ({
      upsert: async (id: string, value: Stored) => void of(model).set(id, value),
      find: async (id: string) => of(model).get(id),
      findByUid: async (uid: string) => [...of(model).values()].find((value) => value.uid === uid),
      destroy: async (id: string) => void of(model).delete(id),
      async consume(id: string) {
        const value = of(model).get(id)
        if (value !== undefined) value.consumed = Math.floor(Date.now() / 1000)
      },
      async revokeByGrantId(grantId: string) {
        for (const [id, value] of of(model)) if (value.grantId === grantId) of(model).delete(id)
      },
    }),
  }
}
