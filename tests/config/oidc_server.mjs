// An OpenID Connect provider that logs everybody in, rotates refresh tokens and counts token requests.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, lifetime] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${modules}/node_modules/oidc-provider/lib/index.js`));
const server = createServer();
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{
    client_id: "tau", token_endpoint_auth_method: "none", application_type: "native",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    redirect_uris: ["http://127.0.0.1/callback"], response_types: ["code"],
  }],
  scopes: ["openid", "offline_access"],
  features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  ttl: { AccessToken: Number(lifetime) },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  cookies: { keys: ["test"] },
});
let tokenRequests = 0;
let revoked = 0;
provider.on("grant.revoked", () => { revoked += 1; });
const serve = provider.callback();
server.on("request", async (request, response) => {
  if (request.url === "/counts") {
    response.end(JSON.stringify({ tokenRequests, revoked }));
  } else if (request.url.startsWith("/interaction/")) {
    const { prompt, params } = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: "someone@example.com", clientId: params.client_id });
    grant.addOIDCScope("openid offline_access");
    const result = prompt.name === "login"
      ? { login: { accountId: "someone@example.com" } } : { consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  } else {
    tokenRequests += request.url === "/token" ? 1 : 0;
    serve(request, response);
  }
});
console.log(issuer);
