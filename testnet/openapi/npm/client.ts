// What a program in TypeScript does with the API, by the types that are made of its description.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[]; exit(status: number): never };

const api = createClient<paths>({ baseUrl: process.argv[2] });

async function conflicting(): Promise<components["schemas"]["Resource"][]> {
  const all: components["schemas"]["Resource"][] = [];
  for (let cursor: string | undefined; ; ) {
    const { data, error } = await api.GET("/api/v1/resources", { params: { query: { state: "conflict", limit: 2, cursor } } });
    if (error) throw new Error(error.detail);
    all.push(...data.items);
    if (!data.next) return all;
    cursor = data.next;
  }
}

for (const r of await conflicting()) console.log(r.service, r.id, Object.keys(r.sites).sort().join("+"));

const refused = await api.GET("/api/v1/resources/{id}", { params: { path: { id: "none" } } });
console.log(refused.error?.type, refused.response.status);

const issued = await api.POST("/api/v1/operations", {
  body: { service: "images", method: "POST", path: "/images", scope: "{images: paris & nantes}", body: { name: "alpine" } },
});
if (issued.data && "id" in issued.data) console.log("issued", issued.data.answer.status);
